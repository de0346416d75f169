package classify

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestSieveRulesNothingOut: whatever stands before, between and behind the pieces of a row, a text that matches it passes.
func TestSieveRulesNothingOut(t *testing.T) {
	rows := builtin().texts
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.SampledFrom(rows).Draw(t, "row")
		filler := rapid.StringMatching(`[a-z :.é]{0,40}`)
		var text strings.Builder
		text.WriteString(filler.Draw(t, "before") + " ")
		for _, piece := range m.pieces {
			text.WriteString(piece + filler.Draw(t, "after"))
		}
		grams := sieveOf(text.String())
		if m.matches(text.String()) && !m.passes(&grams) {
			t.Errorf("%q matches %q and does not pass", text.String(), m.pieces)
		}
	})
}
