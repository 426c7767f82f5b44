package cart

import "testing"

func TestTotal(t *testing.T) {
	if got := Total([]int{3, 4}); got != 7 {
		t.Errorf("Total = %d", got)
	}
}
