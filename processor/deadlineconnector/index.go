package deadlineconnector

import "math/bits"

// index finds the place in a ring by a key that is a hash already: open addressing of a fixed size, never more than three
// quarters full. Not safe for concurrent use.
type index struct {
	keys []uint64
	at   []int32 // place + 1, 0 is empty
}

// indexBytes is what an index takes for each entry.
const indexBytes = 12 * 4 / 3

func newIndex(entries int) index {
	slots := entries*4/3 + 2
	return index{make([]uint64, slots), make([]int32, slots)}
}

func (x *index) home(key uint64) int {
	high, _ := bits.Mul64(key, uint64(len(x.keys)))
	return int(high)
}

// slot returns where the key is, or where it would be.
func (x *index) slot(key uint64) (int, bool) {
	for i := x.home(key); ; {
		if x.at[i] == 0 {
			return i, false
		}
		if x.keys[i] == key {
			return i, true
		}
		if i++; i == len(x.keys) {
			i = 0
		}
	}
}

func (x *index) get(key uint64) (int32, bool) {
	i, ok := x.slot(key)
	return x.at[i] - 1, ok
}

func (x *index) put(key uint64, at int32) {
	i, _ := x.slot(key)
	x.keys[i], x.at[i] = key, at+1
}

// remove takes a key out and closes the gap.
func (x *index) remove(key uint64) {
	gap, ok := x.slot(key)
	if !ok {
		return
	}
	n := len(x.keys)
	for i := gap; ; {
		if i++; i == n {
			i = 0
		}
		if x.at[i] == 0 {
			break
		}
		if home := x.home(x.keys[i]); (i-home+n)%n >= (i-gap+n)%n {
			x.keys[gap], x.at[gap] = x.keys[i], x.at[i]
			gap = i
		}
	}
	x.at[gap] = 0
}
