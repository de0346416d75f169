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
