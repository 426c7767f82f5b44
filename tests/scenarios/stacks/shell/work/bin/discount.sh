percent=0
if [ "$1" -ge 10000 ]; then percent=10; fi
echo "$(($1 - $1 * percent / 100))"
