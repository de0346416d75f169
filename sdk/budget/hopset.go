package budget

import (
	"sync"

	"go.opentelemetry.io/otel/attribute"
)

// hopSet holds the hops of one request, or one hop outside of any. Its lock guards what others may do to a hop while its
// owner works; a request's hops share it, so that the start of a hop and its end take one lock each.
//
// States go from request to request only once all hops of a request have ended. Hence whoever holds the handle of a hop may
// read its state while the set has not ended or has hops that live, and must not afterwards: the state may be another's.
//
// Nothing here moves pointers about: each pointer stored while the garbage collector marks costs as much as a lock.
type hopSet struct {
	mu       sync.Mutex
	ended    bool
	live     int         // hops that have not ended, listed or not
	states   []*hopState // all
	spare    []int32     // where those of ended hops are
	statesIn [8]*hopState
	spareIn  [8]int32
}

// States of hops of requests, and of hops outside, which never mix: each is guarded by sets of its kind.
var (
	hopStates   = sync.Pool{New: func() any { return newHopState() }}
	looseStates = sync.Pool{New: func() any {
		h := newHopState()
		h.own = &hopSet{live: 1}
		h.set = h.own
		return h
	}}
)

func newHopState() *hopState {
	return &hopState{hopExtra: hopExtra{attrs: make([]attribute.KeyValue, 0, 32)}}
}

// lock returns the state, with the set locked, or nil if the hop has ended.
func (h Hop) lock() *hopState {
	if h.set == nil {
		return nil
	}
	h.set.mu.Lock()
	if h.set.ended && h.set.live == 0 || h.s.gen != h.gen {
		h.set.mu.Unlock()
		return nil
	}
	return h.s
}

// take returns a state for a hop of the request, which may be none or over. A hop that is listed counts as open from now on.
func (en *Entry) take(stage, peer string, listed bool) *hopState {
	if en != nil {
		en.mu.Lock()
		if !en.ended {
			h := en.next()
			h.stage, h.peer, h.listed = stage, peer, listed
			en.mu.Unlock()
			return h
		}
		en.mu.Unlock()
	}
	h := looseStates.Get().(*hopState)
	h.stage, h.peer = stage, peer
	return h
}

// track lists a hop that was not when it was taken; it reports false if the request is over.
func (en *Entry) track(h *hopState) bool {
	en.mu.Lock()
	defer en.mu.Unlock()
	if en.ended {
		return false
	}
	h.listed = true
	if en.lifted.Load() { // while the hop started
		h.lift()
	}
	return true
}

// next returns a state that no hop uses. The caller holds the lock.
func (s *hopSet) next() *hopState {
	s.live++
	if n := len(s.spare); n > 0 {
		h := s.states[s.spare[n-1]]
		s.spare = s.spare[:n-1]
		return h
	}
	if s.states == nil {
		s.states, s.spare = s.statesIn[:0], s.spareIn[:0]
	}
	h := hopStates.Get().(*hopState)
	h.set, h.index = s, int32(len(s.states))
	s.states = append(s.states, h)
	return h
}

// free keeps the state of a hop that has ended for the next. The caller holds the lock.
func (s *hopSet) free(h *hopState) {
	h.listed = false
	h.reset() // not before: whoever lists the open hops reads it
	s.live--
	s.spare = append(s.spare, h.index)
}

// openHops lists the open hops. The caller holds the lock.
func (s *hopSet) openHops() []openHop {
	var open []openHop
	for _, h := range s.states {
		if h.listed {
			open = append(open, h.left())
		}
	}
	return open
}

// close ends the set and returns the states that may go to another. The caller holds the lock.
func (s *hopSet) close() (free []*hopState) {
	if s.live == 0 {
		free = s.states
	}
	s.ended, s.states, s.spare = true, nil, nil
	return free
}

// recycle gives states of ended hops to other requests.
func recycle(states []*hopState) {
	for i, h := range states {
		h.clear()
		states[i] = nil
		hopStates.Put(h)
	}
}

// release gives back the state of a hop that has ended. The caller holds no reference to it but its own.
func (h *hopState) release() {
	if h.set == h.own {
		h.clear()
		looseStates.Put(h)
		return
	}
	h.set.mu.Lock()
	if !h.set.ended {
		h.set.free(h)
		h.set.mu.Unlock()
		return
	}
	h.set.live--
	h.set.mu.Unlock()
	if h.listed {
		// The request is over and has counted the hop as left running.
		m := h.scope.edge.metrics
		m.stillRunning.Add(h.ctx, -1, m.with(labels{stage: h.stage, peer: h.peer}))
	}
}

// reset clears what only some hops have.
func (h *hopState) reset() {
	if h.touched {
		attrs := h.attrs
		clear(attrs)
		h.touched, h.hopExtra = false, hopExtra{attrs: attrs[:0]}
	}
}

// clear forgets all that a state holds on to.
func (h *hopState) clear() {
	h.reset()
	h.plan, h.ctx, h.cancel, h.set = plan{}, nil, nil, h.own
}
