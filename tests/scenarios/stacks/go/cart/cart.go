// Package cart adds up what an order costs.
package cart

// Total is the sum of the prices.
func Total(prices []int) int {
	sum := 0
	for _, price := range prices {
		sum += price
	}
	return sum
}
