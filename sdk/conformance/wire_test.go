package conformance_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/laxity-dev/laxity/sdk/budgethttp"
	"github.com/laxity-dev/laxity/sdk/conformance"
	"github.com/laxity-dev/laxity/sdk/wire"
)

// TestWire runs every vector. A runner in another language does just this.
func TestWire(t *testing.T) {
	vectors, err := conformance.Vectors(conformance.Wire)
	if err != nil {
		t.Fatal(err)
	}
	if len(vectors) < 80 {
		t.Fatalf("only %d vectors", len(vectors))
	}
	for _, v := range vectors {
		if got := answer(t, v); got != v.Expected {
			t.Errorf("wire.txt:%d: %s %q = %s, want %s", v.Line, v.Operation, v.Input, got, v.Expected)
		}
	}
}

func answer(t *testing.T, v conformance.Vector) string {
	t.Helper()
	parsed := func(d time.Duration, ok bool) string {
		if !ok {
			return "missing"
		}
		return strconv.FormatInt(int64(d), 10)
	}
	switch v.Operation {
	case "parse-ms":
		return parsed(wire.ParseMillis(v.Input))
	case "parse-grpc":
		return parsed(wire.ParseGRPC(v.Input))
	case "parse-envoy":
		return parsed(wire.ParseEnvoy(v.Input))
	case "parse-connect":
		return parsed(wire.ParseConnect(v.Input))
	case "format-ms":
		return wire.FormatMillis(nanoseconds(t, v.Input))
	case "format-grpc":
		return wire.FormatGRPC(nanoseconds(t, v.Input))
	case "headers":
		h := http.Header{}
		for line := range strings.SplitSeq(v.Input, " | ") {
			name, value, _ := strings.Cut(line, ": ")
			h.Add(name, value)
		}
		return parsed(budgethttp.Ask(h).Get())
	case "child":
		f := strings.Split(v.Input, "\t")
		left := nanoseconds(t, f[0]) - nanoseconds(t, f[1])
		if f[2] != "-" {
			left = min(left, nanoseconds(t, f[2]))
		}
		return wire.FormatMillis(left)
	}
	t.Fatalf("wire.txt:%d: operation %q is not known", v.Line, v.Operation)
	return ""
}

func nanoseconds(t *testing.T, s string) time.Duration {
	t.Helper()
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(n)
}
