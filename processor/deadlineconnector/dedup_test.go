package deadlineconnector

import (
	"math/rand/v2"
	"slices"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// Nearly all of the latest so many are remembered, all of the latest quarter, and none of long ago.
func TestTheWindowRemembersTheLatest(t *testing.T) {
	const size = 5000
	w := newWindow(size)
	random := rand.New(rand.NewPCG(1, 2))
	var all []uint64
	for range 10 * size {
		id := random.Uint64() | 1
		if w.seen(id) {
			t.Fatal("a new one was taken for an old one")
		}
		all = append(all, id)
	}
	remembered := func(id uint64) bool {
		w := &window{sets: slices.Clone(w.sets)}
		return w.seen(id)
	}
	forgotten := 0
	for back := range size {
		if !remembered(all[len(all)-1-back]) {
			forgotten++
			if back < size/4 {
				t.Errorf("one of %d before is forgotten", back)
			}
		}
	}
	if forgotten > size/100 {
		t.Errorf("%d of %d are forgotten", forgotten, size)
	}
	for back := 6 * size; back < 7*size; back++ {
		if remembered(all[len(all)-1-back]) {
			t.Error("one from long ago is remembered: memory grows")
		}
	}
}

func TestIdentitiesOfOneTraceDiffer(t *testing.T) {
	ids := newIdentifier()
	seen := map[uint64]bool{}
	for trace := range byte(20) {
		for span := range byte(200) {
			key := ids.span(pcommon.TraceID{15: trace}, pcommon.SpanID{7: span})
			for _, service := range []string{"a", "b"} {
				for kind := range 5 {
					seen[ids.identity(key, ids.service(service), ptrace.SpanKind(kind))] = true
				}
			}
		}
	}
	if len(seen) != 20*200*2*5 {
		t.Errorf("%d identities of %d spans", len(seen), 20*200*2*5)
	}
	a, b := ids.place(&place{route: "x"}, 1), ids.place(&place{stage: "x"}, 1)
	if a == b || a == ids.place(&place{route: "x"}, 2) || ids.place(&place{stage: "x", peer: "y"}, 1) == ids.place(&place{stage: "y", peer: "x"}, 1) {
		t.Error("two places share a hash")
	}
}
