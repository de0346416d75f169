package deadlineconnector

// shape is what the skeletons of many spans have in common.
type shape struct {
	service, clock     textID
	where, peer        textID // route of an entry, or stage and peer
	cause, phase, from textID
	kind, flags        uint8
}

const (
	flagEntry uint8 = 1 << iota
	flagDetached
	flagPostInferred
)

// cut reports whether the span itself says that its wait ended, so that those it called may be orphans.
func (s *shape) cut() bool { return s.cause != 0 || s.phase != 0 }

// form is a shape before its texts have numbers. Its texts are cut, and may not be clean.
type form struct {
	service, clock, where, peer, cause, phase, from string
	kind, flags                                     uint8
}

// form makes a number of a form whose service and clock have the hashes.
func (i identifier) form(f *form, service, clock uint64) uint64 {
	key := service ^ clock
	key = i.mix(key, uint64(f.kind)<<8|uint64(f.flags), 0)
	for n, s := range [...]string{f.where, f.peer, f.cause, f.phase, f.from} {
		if s != "" {
			key = i.mix(key, i.service(s), uint64(n)<<1)
		}
	}
	return key
}

// shapes numbers shapes by their hashes. It takes the memory of the texts.
type shapes struct {
	texts
	numbers map[uint64]uint32
	list    []shape
	hashes  []uint64
}

// shapeBytes is about what a shape takes: itself, its hash, and a hash and a number in a map at half its load.
const shapeBytes = 32 + 8 + 32

func newShapes(bytes int) shapes {
	s := shapes{texts: newTexts(bytes)}
	s.forget()
	return s
}

func (s *shapes) forget() {
	s.texts.clear()
	s.numbers, s.list, s.hashes = map[uint64]uint32{}, nil, nil
	s.left -= shapeBytes
	s.add(0, shape{}) // what there is no room for
}

func (s *shapes) add(hash uint64, sh shape) uint32 {
	n := uint32(len(s.list))
	s.numbers[hash] = n
	s.list, s.hashes = append(s.list, sh), append(s.hashes, hash)
	return n
}

// full reports whether there is no room for a new shape, except one whose route, stage and peer are other.
func (s *shapes) full() bool { return s.left < s.max/8 }

// number returns the number of a form's shape, or where there is no room for it the one of the form without its names, 0 if there
// is none for that either.
func (s *shapes) number(ids *identifier, hash uint64, f *form) uint32 {
	if n, ok := s.numbers[hash]; ok {
		return n
	}
	if s.full() {
		if f.where != other {
			f.where, f.peer = other, ""
			return s.number(ids, ids.form(f, ids.service(f.service), ids.service(f.clock)), f)
		}
		if s.left < shapeBytes {
			return 0
		}
	}
	s.left -= shapeBytes
	number := func(label string) textID { return s.texts.number(text(label)) }
	return s.add(hash, shape{
		service: number(f.service), clock: number(f.clock), where: number(f.where), peer: number(f.peer),
		cause: number(f.cause), phase: number(f.phase), from: number(f.from), kind: f.kind, flags: f.flags,
	})
}

// keep numbers anew those that are still used, and forgets the others. It returns the new number of each old one.
func (s *shapes) keep(used []bool, hops []*openHop) (again []uint32) {
	list, hashes, all := s.list, s.hashes, s.all
	s.forget()
	text := func(ids ...*textID) {
		for _, id := range ids {
			*id = s.texts.number(all[*id])
		}
	}
	again = make([]uint32, len(list))
	for i, sh := range list {
		if i == 0 || !used[i] || s.left < shapeBytes {
			continue
		}
		s.left -= shapeBytes
		text(&sh.service, &sh.clock, &sh.where, &sh.peer, &sh.cause, &sh.phase, &sh.from)
		again[i] = s.add(hashes[i], sh)
	}
	for _, h := range hops {
		text(&h.service, &h.stage, &h.peer)
	}
	return again
}
