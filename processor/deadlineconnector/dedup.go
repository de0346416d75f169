package deadlineconnector

import (
	"hash/maphash"
	"math/bits"

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

func half(b []byte) uint64 {
	_ = b[7]
	return uint64(b[0])<<56 | uint64(b[1])<<48 | uint64(b[2])<<40 | uint64(b[3])<<32 | uint64(b[4])<<24 | uint64(b[5])<<16 | uint64(b[6])<<8 | uint64(b[7])
}

// window remembers the latest identities: at least size of them, at most twice as many. Not safe for concurrent use.
type window struct {
	size           int
	current, older []uint64 // open addressing, 0 is empty
	used           int
}

// newWindow returns a window over so many identities; it takes 32 bytes for each.
func newWindow(size int) *window {
	if size == 0 {
		return nil
	}
	slots := 1 << bits.Len(uint(2*size-1))
	return &window{size: size, current: make([]uint64, slots), older: make([]uint64, slots)}
}

// seen reports whether the identity is remembered, and remembers it.
func (w *window) seen(identity uint64) bool {
	if w == nil {
		return false
	}
	identity |= 1
	i, found := find(w.current, identity)
	if found {
		return true
	}
	_, before := find(w.older, identity)
	w.current[i] = identity
	if w.used++; w.used >= w.size {
		w.current, w.older, w.used = w.older, w.current, 0
		clear(w.current)
	}
	return before
}

func find(slots []uint64, identity uint64) (int, bool) {
	mask := len(slots) - 1
	for i := int(identity>>1) & mask; ; i = (i + 1) & mask {
		switch slots[i] {
		case identity:
			return i, true
		case 0:
			return i, false
		}
	}
}
