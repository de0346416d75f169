package deadlineconnector

import (
	"hash/maphash"
	"math/bits"
	"sync"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// identifier makes a number of a span's identity (trace, span, service, kind), or of a span within its trace.
type identifier struct {
	seed maphash.Seed
	a, b uint64
}

func newIdentifier() identifier {
	seed := maphash.MakeSeed()
	return identifier{seed, maphash.String(seed, "a") | 1, maphash.String(seed, "b") | 1}
}

func (i identifier) service(name string) uint64 { return maphash.String(i.seed, name) }

// span is the same for all spans with these ids; 0 only by chance.
func (i identifier) span(trace pcommon.TraceID, id pcommon.SpanID) uint64 {
	high, low := bits.Mul64(half(trace[:8])^i.a, half(trace[8:])^i.b)
	high2, low2 := bits.Mul64(high^low^half(id[:]), i.a)
	return high2 ^ low2
}

func (i identifier) identity(key uint64, service uint64, kind ptrace.SpanKind) uint64 {
	high, low := bits.Mul64(key^service, i.b+uint64(kind)<<1)
	return high ^ low
}

// place is the same for all spans of a place whose service has the hash. Two places share it only by a chance of one in 2^64.
func (i identifier) place(p *place, service uint64) uint64 {
	key := service
	for n, s := range [...]string{p.route, p.stage, p.peer} {
		if s != "" {
			key = i.mix(key, i.service(s), uint64(n)<<1)
		}
	}
	return key
}

func (i identifier) mix(key, with, salt uint64) uint64 {
	high, low := bits.Mul64(key^with, i.a+salt)
	return high ^ low
}

func half(b []byte) uint64 {
	_ = b[7]
	return uint64(b[0])<<56 | uint64(b[1])<<48 | uint64(b[2])<<40 | uint64(b[3])<<32 | uint64(b[4])<<24 | uint64(b[5])<<16 | uint64(b[6])<<8 | uint64(b[7])
}

// window remembers about the latest identities. Of each it keeps its set and 32 bits, so that three new spans in a billion are
// taken for one sent again. A set is one line of a processor's cache; its newest identity takes the place of its oldest. It has a
// lock of its own, so that one request is looked up while another is counted.
type window struct {
	mu      sync.Mutex
	sets    [][setSize]uint32
	touched uint32 // says nothing; without it the compiler would leave the touching out
}

const (
	setSize = 16 // the first says which is the oldest of the others; 0 is empty
	setLoad = 7  // of the latest that the window is for, on average, so that very few sets have more than they can hold
)

// newWindow returns a window over so many identities, nil for none; it takes 9 bytes for each.
func newWindow(size int) *window {
	if size == 0 {
		return nil
	}
	return &window{sets: make([][setSize]uint32, size/setLoad+1)}
}

// mark marks the spans that are remembered, and remembers all.
func (w *window) mark(notes []note) {
	w.mu.Lock()
	defer w.mu.Unlock()
	// All sets are touched first, so that the waits for them overlap.
	touched := uint32(0)
	for i := range notes {
		touched |= w.set(notes[i].identity)[0]
	}
	w.touched = touched
	for i := range notes {
		notes[i].again = w.seen(notes[i].identity)
	}
}

func (w *window) set(identity uint64) *[setSize]uint32 {
	home, _ := bits.Mul64(identity, uint64(len(w.sets)))
	return &w.sets[home]
}

// seen reports whether the identity is remembered, and remembers it. The caller holds the lock.
func (w *window) seen(identity uint64) bool {
	set, brief := w.set(identity), max(uint32(identity), 1)
	for _, known := range set[1:] {
		if known == brief {
			return true
		}
	}
	oldest := set[0] % (setSize - 1)
	set[1+oldest], set[0] = brief, oldest+1
	return false
}
