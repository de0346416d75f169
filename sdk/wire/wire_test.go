package wire_test

import (
	"testing"
	"time"

	"github.com/laxity-dev/laxity/sdk/conformance"
	"github.com/laxity-dev/laxity/sdk/wire"
)

// seed adds the inputs of the conformance vectors.
func seed(f *testing.F) {
	vectors, err := conformance.Vectors(conformance.Wire)
	if err != nil {
		f.Fatal(err)
	}
	for _, v := range vectors {
		f.Add(v.Input)
	}
}

// Whatever arrives, a value is missing or lies between zero and the longest that is believed.
func FuzzParse(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, s string) {
		for name, parse := range map[string]func(string) (time.Duration, bool){
			"millis": wire.ParseMillis, "grpc": wire.ParseGRPC, "envoy": wire.ParseEnvoy, "connect": wire.ParseConnect,
		} {
			one, ok := parse(s)
			if one < 0 || one > wire.Longest || !ok && one != 0 {
				t.Errorf("%s(%q) = %v %v", name, s, one, ok)
			}
			// Repeating a header never makes more of it.
			if two, again := wire.Smallest(0, false, []string{s, s}, parse); ok && (!again || two > one) {
				t.Errorf("%s twice %q = %v %v, once %v", name, s, two, again, one)
			}
		}
	})
}

// What is written is read back as no more than it was, and as less by less than a unit.
func FuzzFormat(f *testing.F) {
	for _, n := range []int64{0, 1, -1, 99_999_999, 100_000_000, 1_900_000_000, 119_000_000_000, 1 << 62, -1 << 63} {
		f.Add(n)
	}
	f.Fuzz(func(t *testing.T, n int64) {
		d := time.Duration(n)
		if d > wire.Longest {
			return
		}
		ms, ok := wire.ParseMillis(wire.FormatMillis(d))
		if !ok || ms > max(d, 0) || max(d, 0)-ms >= time.Millisecond {
			t.Errorf("%v over milliseconds: %v %v", d, ms, ok)
		}
		g, ok := wire.ParseGRPC(wire.FormatGRPC(d))
		if !ok || g > max(d, 0) || max(d, 0)-g > max(d, 0)/1e5 {
			t.Errorf("%v over grpc: %v %v", d, g, ok)
		}
	})
}
