package carry_test

import (
	"slices"
	"testing"

	"github.com/laxity-dev/laxity/sdk/internal/carry"
)

func TestPropagatorDefaultsToTraceContext(t *testing.T) {
	if f := carry.Propagator()().Fields(); !slices.Contains(f, "traceparent") {
		t.Errorf("fields %v", f)
	}
}

func FuzzAttempt(f *testing.F) {
	for _, s := range []string{"", "1", "3", "0", "-1", "99999999999999999999", "x", "1001"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if n := carry.Attempt(s); n < 1 || n > carry.MaxAttempt {
			t.Errorf("%q is %d", s, n)
		}
	})
}
