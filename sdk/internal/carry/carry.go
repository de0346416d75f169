// Package carry is what the carriers of a budget have in common, whatever the protocol.
package carry

import (
	"strconv"
	"sync"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"
)

// Propagator returns the function that finds the propagator at its first call: the global one, which may be set late, or
// W3C's where none is set.
func Propagator() func() propagation.TextMapPropagator {
	return sync.OnceValue(func() propagation.TextMapPropagator {
		if p := otel.GetTextMapPropagator(); len(p.Fields()) > 0 {
			return p
		}
		return propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})
	})
}

// MaxAttempt bounds what is believed of an attempt's number.
const MaxAttempt = 1000

// Attempt reads the number of an attempt, 1 if it is missing or nonsense.
func Attempt(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		return 1
	}
	return min(n, MaxAttempt)
}
