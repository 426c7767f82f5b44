package discount

import "testing"

func TestREQ_001_LargeOrders(t *testing.T) {
	for cents, asked := range map[int]int{9_999: 0, 10_000: 10} {
		if got := Percent(cents); got != asked {
			t.Errorf("Percent(%d) = %d", cents, got)
		}
	}
}

func TestREQ_002_IsTakenOff(t *testing.T) {
	if got := After(20_000); got != 18_000 {
		t.Errorf("After(20000) = %d", got)
	}
	if got := After(5_000); got != 5_000 {
		t.Errorf("After(5000) = %d", got)
	}
}
