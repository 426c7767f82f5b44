[ "$(sh bin/total.sh 3 4)" = 7 ]
