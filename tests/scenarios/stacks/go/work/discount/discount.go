// Package discount says what a large order costs less.
package discount

// Percent is what an order of so many cents gets.
func Percent(cents int) int {
	if cents >= 10_000 {
		return 10
	}
	return 0
}

// After is what is left to pay.
func After(cents int) int {
	return cents - cents*Percent(cents)/100
}
