package deadlineconnector

import "strings"

// textID is the number of a text; 0 is none.
type textID uint32

// texts numbers texts within a fixed amount of memory. Not safe for concurrent use.
type texts struct {
	ids  map[string]textID
	all  []string
	left int // bytes
	max  int
}

// textBytes is about what a text takes beside its own bytes: twice a header and a number, in a map at half its load.
const textBytes = 96

func newTexts(bytes int) texts {
	t := texts{max: bytes}
	t.clear()
	return t
}

func (t *texts) clear() {
	t.ids, t.all, t.left = map[string]textID{}, []string{""}, t.max
	t.number(other)
}

// other stands for every text that there is no room for.
const other = "other"

// full reports whether there is no room for the texts of one more span, however long.
func (t *texts) full() bool { return t.left < 8*(maxText+textBytes) }

// number returns the number of a text.
func (t *texts) number(s string) textID {
	if s == "" {
		return 0
	}
	if id, ok := t.ids[s]; ok {
		return id
	}
	if t.left < len(s)+textBytes {
		return t.ids[other]
	}
	t.left -= len(s) + textBytes
	id := textID(len(t.all))
	s = strings.Clone(s)
	t.ids[s] = id
	t.all = append(t.all, s)
	return id
}

func (t *texts) of(id textID) string { return t.all[id] }

// compact numbers the texts that are still in use anew.
func (s *skeletons) compact() {
	old := s.texts.all
	s.texts.clear()
	again := func(ids ...*textID) {
		for _, id := range ids {
			*id = s.texts.number(old[*id])
		}
	}
	for _, r := range []*ring{&s.callers, &s.waiting} {
		for i := range r.entries[:r.size] {
			k := &r.entries[i]
			again(&k.cause, &k.phase, &k.from, &k.service, &k.clock, &k.where, &k.peer)
		}
	}
	for i := range s.openLen {
		h := &s.open[(s.openNext+i)%len(s.open)]
		again(&h.service, &h.stage, &h.peer)
	}
}
