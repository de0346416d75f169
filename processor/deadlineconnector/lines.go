package deadlineconnector

import "math/bits"

// lines finds the latest entry of a ring by a key that is a hash already. Each key has a home of eight words, one line of a
// processor's cache; a new one takes the place of the oldest there. Nothing is ever taken out: an entry that the ring has
// overwritten is older than the ring is long, and whoever finds one compares the key. Not safe for concurrent use.
type lines [][lineSize]uint64 // the number of the entry and 24 bits of the key; 0 is empty

const (
	lineSize  = 8
	lineLoad  = 4 // entries of the ring for each line, so that few lines have more than they can hold
	lineBytes = 8 * lineSize / lineLoad
	lineBits  = 24
	lineMask  = 1<<lineBits - 1
)

func newLines(entries int) lines { return make(lines, entries/lineLoad+1) }

func (l lines) home(key uint64) *[lineSize]uint64 {
	high, _ := bits.Mul64(key, uint64(len(l)))
	return &l[high]
}

// get returns the number of the latest entry of a key, 0 if none is known.
func (l lines) get(key uint64) uint64 {
	for _, word := range l.home(key) {
		if (word^key)&lineMask == 0 {
			return word >> lineBits
		}
	}
	return 0
}

// put makes an entry the latest of a key, and returns the one before it, 0 if none is known. Numbers ascend, from 1.
func (l lines) put(key, number uint64) (before uint64) {
	line := l.home(key)
	oldest := 0
	for i, word := range line {
		if (word^key)&lineMask == 0 && word != 0 {
			line[i] = number<<lineBits | key&lineMask
			return word >> lineBits
		}
		if word < line[oldest] {
			oldest = i
		}
	}
	line[oldest] = number<<lineBits | key&lineMask
	return 0
}

// ring keeps the latest entries. Each has a number, from 1 on.
type ring[T any] struct {
	entries []T
	last    uint64 // number of the latest
}

func newRing[T any](entries int) ring[T] { return ring[T]{entries: make([]T, entries)} }

// of returns the entry of a number, nil if it is overwritten or there was none.
func (r *ring[T]) of(number uint64) *T {
	if number == 0 || r.last-number >= uint64(len(r.entries)) {
		return nil
	}
	return &r.entries[number%uint64(len(r.entries))]
}

// next returns the entry that the next number overwrites.
func (r *ring[T]) next() (number uint64, entry *T) {
	r.last++
	return r.last, &r.entries[r.last%uint64(len(r.entries))]
}

// used returns the entries that have been written.
func (r *ring[T]) used() []T {
	if r.last < uint64(len(r.entries)) {
		return r.entries[:r.last+1] // the first place is written last
	}
	return r.entries
}
