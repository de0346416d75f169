package limit

import (
	"math/rand/v2"
	"testing"

	"github.com/laxity-dev/laxity/internal/verdict"
)

// Work of constant or stepped length whose callees end a little after their answers, or fail at once, has no limit.
func TestIssueOrdinaryHabitsAreNoLimits(t *testing.T) {
	for name, change := range map[string]func(*rand.Rand, *verdict.Call){
		"waits 1 s by design, logs for 3 ms after": func(r *rand.Rand, c *verdict.Call) {
			c.Length = 1000e6 + int64(r.IntN(400_000))
			c.HasCallee, c.CalleeLength = true, c.Length+3e6
		},
		"waits 1 s by design, one in five works on": func(r *rand.Rand, c *verdict.Call) {
			c.Length = 1000e6 + int64(r.IntN(400_000))
			c.HasCallee, c.CalleeLength = true, c.Length-1e6
			if r.IntN(5) == 0 {
				c.CalleeLength = c.Length + 200e6
			}
		},
		"one in three fails, answered": func(r *rand.Rand, c *verdict.Call) {
			c.Length = 500e6 + int64(r.IntN(400_000))
			c.Failed, c.HasCallee, c.CalleeLength = r.IntN(3) == 0, true, c.Length-1e6
		},
		"one in three fails, nothing recorded behind": func(r *rand.Rand, c *verdict.Call) {
			c.Length = 500e6 + int64(r.IntN(400_000))
			c.Failed, c.HasCallee = r.IntN(3) == 0, false
		},
		"a batch every second of whole milliseconds": func(r *rand.Rand, c *verdict.Call) {
			c.Length = int64(980+r.IntN(40)) * 1e6
			c.HasCallee, c.CalleeLength = true, c.Length-1e6
		},
		"negative and huge": func(r *rand.Rand, c *verdict.Call) {
			c.Length, c.HasCallee, c.CalleeLength, c.CalleeStart = []int64{-5, 0, 1, 1 << 62, -1 << 62}[r.IntN(5)], true, []int64{-1 << 62, 1 << 62}[r.IntN(2)], -1<<63
		},
	} {
		random := rand.New(rand.NewPCG(3, 1))
		calls := noise(random, 2000, lengthsBy["log normal"], 0)
		for i := range calls {
			change(random, &calls[i])
		}
		if found := Find(calls); len(found) > 0 {
			t.Errorf("%s: %+v", name, found)
		}
	}
}
