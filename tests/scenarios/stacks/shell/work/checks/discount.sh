set -e
# REQ-001: ten per cent from 10 000 cents on
[ "$(sh bin/discount.sh 9999)" = 9999 ]
[ "$(sh bin/discount.sh 10000)" = 9000 ]
# REQ-002: it is taken off
[ "$(sh bin/discount.sh 20000)" = 18000 ]
