package deadlineconnector

import (
	"encoding/hex"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/laxity-dev/laxity/internal/verdict"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// skeleton reads what is kept of a span.
func (b *batch) skeleton(in ptrace.Span, s *sheet, v *verdict.SpanVerdict, r *resource, key, n uint64) bone {
	k := bone{
		caller: caller{
			skeleton: skeleton{key: key, start: s.facts.Start, end: s.facts.End, n: uint32(n)},
			detail:   detail{cancelAfter: none, post: none, allowed: int64(s.facts.AllowedAfterEnd())},
		},
		form: form{service: r.service, clock: r.clock, cause: string(v.Cause), phase: string(v.Phase), from: string(v.Source), kind: uint8(s.facts.Kind)},
	}
	if !s.facts.Root {
		k.parent = b.ids.span(in.TraceID(), in.ParentSpanID())
	}
	if v.HasCancelAfter {
		k.cancelAfter = int64(v.CancelAfter)
	}
	if v.HasPostCancel {
		k.post = int64(v.PostCancel)
		if v.PostCancelInferred {
			k.flags |= flagPostInferred
		}
	}
	if v.Entry {
		k.flags |= flagEntry
		k.where = cut(s.names.Route())
	} else {
		k.where, k.peer = cut(s.names.StageOrName()), cut(s.names.Peer())
	}
	if s.detached || linksToParent(in) {
		k.flags |= flagDetached
	}
	k.hash = b.ids.form(&k.form, r.hash, r.clockHash)
	if in.Events().Len() > 0 {
		k.opened = b.opened(in)
	}
	return k
}

// linksToParent: such a span follows from its parent, which does not wait for it.
func linksToParent(in ptrace.Span) bool {
	for _, l := range in.Links().All() {
		if l.SpanID() == in.ParentSpanID() || l.TraceID() != in.TraceID() {
			return true
		}
	}
	return false
}

// maxOpened bounds the hops of one request that are followed.
const maxOpened = 64

// opened reads the hops that were open when a response went out.
func (b *batch) opened(in ptrace.Span) (all []opened) {
	for _, e := range in.Events().All() {
		if e.Name() != budgetattr.EventOpenChild || len(all) == maxOpened {
			continue
		}
		text := func(key string) string {
			v, ok := e.Attributes().Get(key)
			if !ok {
				return ""
			}
			return text(v.AsString())
		}
		if id, ok := parseID(text(budgetattr.OpenChildSpanIDKey)); ok {
			all = append(all, opened{b.ids.span(in.TraceID(), id), text(budgetattr.OpenChildStageKey), text(budgetattr.OpenChildPeerKey)})
		}
	}
	return all
}

func parseID(s string) (id pcommon.SpanID, ok bool) {
	if len(s) != 2*len(id) {
		return id, false
	}
	if _, err := hex.Decode(id[:], []byte(s)); err != nil {
		return id, false
	}
	return id, !id.IsEmpty()
}

// find takes the skeletons of a batch's spans, and counts what they reveal.
func (m *meter) find(b *batch, now int64) {
	m.bones.Lock()
	defer m.bones.Unlock()
	b.touched = m.skeletons.touch(b.bones)
	for i := range b.notes {
		n, k := &b.notes[i], &b.bones[i]
		if n.again {
			continue
		}
		if p, ok := m.skeletons.closes(k.key); ok {
			m.running(p, -1, now)
		}
		k.opened = m.skeletons.missing(k.key, k.opened)
		m.skeletons.add(k, func(o orphan) {
			found := *n
			found.n = o.n
			m.countAt(o.place, []value{{mOrphanEarly, true, o.cause, o.time.Seconds()}}, &found, now)
		})
		for _, h := range k.opened {
			if p, ok := m.skeletons.opens(h, k.service, now); ok {
				m.running(p, 1, now)
			}
		}
	}
}

// running counts a hop that runs though its request is over, or runs no more.
func (m *meter) running(p place, by float64, now int64) {
	m.countAt(p, []value{{metric: mStillRunning, amount: by}}, &note{n: 1}, now)
}

// forget stops counting hops as running whose spans never came, and returns how many skeletons made room for newer ones.
func (m *meter) forget(now int64) (evicted int64) {
	if m.skeletons == nil {
		return 0
	}
	m.bones.Lock()
	defer m.bones.Unlock()
	m.skeletons.forget(now-int64(openFor/time.Nanosecond), func(p place) { m.running(p, -1, now) })
	evicted, m.skeletons.evicted = m.skeletons.evicted, 0
	return evicted
}
