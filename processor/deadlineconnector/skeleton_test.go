package deadlineconnector

import (
	"math/rand/v2"
	"testing"
	"time"
	"unsafe"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// child makes a span whose parent is another one.
func (r *rig) child(td ptrace.Traces, of ptrace.Span, service string, kind ptrace.SpanKind, a, b float64, attrs map[string]any) ptrace.Span {
	s := r.add(td, service, kind, a, b, attrs)
	s.SetParentSpanID(of.SpanID())
	return s
}

// cutCall is a call that its own deadline ended after a second, and what it called, which went on for so long.
func (r *rig) cutCall(lasted float64) (call, served ptrace.Traces) {
	call, served = ptrace.NewTraces(), ptrace.NewTraces()
	c := r.add(call, "shop", ptrace.SpanKindClient, 0, 1, map[string]any{budgetattr.CancelCauseKey: "local_deadline", budgetattr.StageKey: "charge"})
	r.child(served, c, "bank", ptrace.SpanKindServer, 0.1, 0.1+lasted, map[string]any{"http.route": "/charge"})
	return call, served
}

const bankOrphan = "deadline.orphan.early{cause=local_deadline,route=/charge,service=bank}"

// The bound is the served span's duration less the caller's wait: no clock offset can fake it.
func TestOrphanWorkIsFoundInEitherOrder(t *testing.T) {
	for name, calledFirst := range map[string]bool{"call first": false, "called first": true} {
		r := newRig(t, nil)
		call, served := r.cutCall(2.5)
		if calledFirst {
			call, served = served, call
		}
		r.send(call)
		r.send(served)
		got := r.flush()
		got.want(t, bankOrphan, 1.5)
		if e := got[bankOrphan].exemplars; e.Len() != 1 || e.At(0).TraceID() != (pcommon.TraceID{1, 2, 3}) {
			t.Errorf("%s: no trace as an example", name)
		}
	}
}

// contrib#31498, #50007: a root closes after a second, its orphan child arrives after 90; the orphan seconds grow once.
func TestIssueLateOrphanCountsExactlyOnce(t *testing.T) {
	r := newRig(t, nil)
	root := ptrace.NewTraces()
	parent := r.add(root, "shop", ptrace.SpanKindServer, 0, 1, map[string]any{
		budgetattr.CancelCauseKey: "client_disconnect", budgetattr.CancelAfterKey: 1.0, budgetattr.CancelConfirmedKey: false})
	parent.SetParentSpanID(pcommon.SpanID{})
	r.send(root)
	r.flush()
	for range 30 { // other traces come and go
		td := ptrace.NewTraces()
		r.add(td, "shop", ptrace.SpanKindServer, 0, 1, nil)
		r.send(td)
	}
	late := ptrace.NewTraces()
	r.child(late, parent, "bank", ptrace.SpanKindServer, 0.5, 90, map[string]any{"http.route": "/charge"})
	r.send(late)
	r.send(late)
	got := r.flush()
	got.want(t, "deadline.orphan.early{cause=client_disconnect,route=/charge,service=bank}", 88.5)
	r.send(late)
	if n := r.flush().total("deadline.orphan.early"); n != 88.5 {
		t.Errorf("%g s of orphan work after the span came once more", n)
	}
}

// Haystack#621 and service graphs with a short memory: a call of 30 s loses what it called. Here it does not depend on how
// long a call lasts.
func TestIssueLongCallsKeepTheirEdge(t *testing.T) {
	r := newRig(t, nil)
	served, call := ptrace.NewTraces(), ptrace.NewTraces()
	c := r.add(call, "shop", ptrace.SpanKindClient, 0, 30, map[string]any{budgetattr.CancelCauseKey: "local_deadline"})
	r.child(served, c, "bank", ptrace.SpanKindServer, 0.1, 45.1, map[string]any{"http.route": "/charge"})
	r.send(served)
	for range 10 {
		r.flush()
	}
	r.send(call)
	r.flush().want(t, bankOrphan, 15)
}

func TestWhatIsNoOrphanWork(t *testing.T) {
	cut := map[string]any{budgetattr.CancelCauseKey: "local_deadline"}
	for name, c := range map[string]struct {
		parent, child ptrace.SpanKind
		from, to      float64
		caller, attrs map[string]any
		change        func(parent, child ptrace.Span)
	}{
		"no evidence":          {ptrace.SpanKindClient, ptrace.SpanKindServer, 0, 5, nil, nil, nil},
		"within tolerance":     {ptrace.SpanKindClient, ptrace.SpanKindServer, 0, 1.0009, cut, nil, nil},
		"a clock that is late": {ptrace.SpanKindClient, ptrace.SpanKindServer, 100, 100.9, cut, nil, nil},
		"a consumer":           {ptrace.SpanKindProducer, ptrace.SpanKindConsumer, 0, 5, cut, nil, nil},
		"declared detached":    {ptrace.SpanKindClient, ptrace.SpanKindServer, 0, 5, cut, map[string]any{budgetattr.DetachedIDKey: "job"}, nil},
		"a link to its parent": {ptrace.SpanKindClient, ptrace.SpanKindServer, 0, 5, cut, nil, func(parent, child ptrace.Span) {
			l := child.Links().AppendEmpty()
			l.SetTraceID(parent.TraceID())
			l.SetSpanID(parent.SpanID())
		}},
	} {
		r := newRig(t, nil)
		td := ptrace.NewTraces()
		parent := r.add(td, "shop", c.parent, 0, 1, c.caller)
		child := r.child(td, parent, "bank", c.child, c.from, c.to, c.attrs)
		if c.change != nil {
			c.change(parent, child)
		}
		r.send(td)
		if got := r.flush(); got.total("deadline.orphan.early") != 0 {
			t.Errorf("%s: %g s", name, got.total("deadline.orphan.early"))
		}
	}
}

// What a server recorded itself needs no caller, and is not counted again when the caller comes.
func TestRecordedWorkAfterTheCallerLeftCountsOnce(t *testing.T) {
	r := newRig(t, nil)
	call, served := ptrace.NewTraces(), ptrace.NewTraces()
	c := r.add(call, "shop", ptrace.SpanKindClient, 0, 1, map[string]any{budgetattr.CancelCauseKey: "local_deadline"})
	r.child(served, c, "bank", ptrace.SpanKindServer, 0.1, 4, map[string]any{"http.route": "/charge",
		budgetattr.CancelCauseKey: "client_disconnect", budgetattr.CancelAfterKey: 1.0, budgetattr.PostCancelTimeKey: 2.0})
	r.send(served)
	r.flush().want(t, "deadline.orphan.early{cause=client_disconnect,route=/charge,service=bank}", 2)
	r.send(call)
	if n := r.flush().total("deadline.orphan.early"); n != 2 {
		t.Errorf("%g s of orphan work", n)
	}
}

// A service's own work counts once: what an orphan handler waits for is part of its own time.
func TestNestedWorkOfOneServiceCountsOnce(t *testing.T) {
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 2, 0}, {1, 0, 2}, {0, 2, 1}, {2, 0, 1}} {
		r := newRig(t, nil)
		spans := make([]ptrace.Traces, 3)
		for i := range spans {
			spans[i] = ptrace.NewTraces()
		}
		call := r.add(spans[0], "shop", ptrace.SpanKindClient, 0, 1, map[string]any{budgetattr.CancelCauseKey: "local_deadline"})
		handler := r.child(spans[1], call, "bank", ptrace.SpanKindServer, 0, 5, map[string]any{
			budgetattr.CancelCauseKey: "shutdown", budgetattr.CancelAfterKey: 2.0})
		r.child(spans[2], handler, "bank", ptrace.SpanKindClient, 0.5, 4.5, map[string]any{budgetattr.StageKey: "query"})
		for _, i := range order {
			r.send(spans[i])
		}
		if n := r.flush().total("deadline.orphan.early"); n > 4 || n < 2 {
			t.Errorf("order %v: %g s; the handler went on for 4 s after its caller's wait", order, n)
		}
	}
}

func TestSkeletonsCanBeOff(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Skeletons.Enabled = false })
	call, served := r.cutCall(2.5)
	r.send(call)
	r.send(served)
	if n := r.flush().total("deadline.orphan.early"); n != 0 {
		t.Errorf("%g s", n)
	}
}

func TestHopsThatStillRunAreCountedUntilTheirSpanComes(t *testing.T) {
	r := newRig(t, nil)
	entry, hop := ptrace.NewTraces(), ptrace.NewTraces()
	e := r.add(entry, "shop", ptrace.SpanKindServer, 0, 1, map[string]any{budgetattr.BudgetReceivedKey: 1.0, budgetattr.OpenChildrenKey: int64(1)})
	h := r.child(hop, e, "shop", ptrace.SpanKindClient, 0.5, 8, map[string]any{budgetattr.StageKey: "charge", "peer.service": "bank"})
	event := e.Events().AppendEmpty()
	event.SetName(budgetattr.EventOpenChild)
	event.Attributes().PutStr(budgetattr.OpenChildSpanIDKey, h.SpanID().String())
	event.Attributes().PutStr(budgetattr.OpenChildStageKey, "charge")
	event.Attributes().PutStr(budgetattr.OpenChildPeerKey, "bank")
	const gauge = "deadline.still_running{peer=bank,service=shop,stage=charge}"
	r.send(entry)
	r.flush().want(t, gauge, 1)
	r.send(hop)
	r.flush().want(t, gauge, 0)
	// One whose span came first does not run any more.
	h.SetSpanID(pcommon.SpanID{7})
	event.Attributes().PutStr(budgetattr.OpenChildSpanIDKey, h.SpanID().String())
	e.SetSpanID(pcommon.SpanID{6})
	h.SetParentSpanID(e.SpanID())
	r.send(hop)
	r.send(entry)
	r.flush().want(t, gauge, 0)
	// One that never comes counts for a while only.
	h.SetSpanID(pcommon.SpanID{9})
	event.Attributes().PutStr(budgetattr.OpenChildSpanIDKey, h.SpanID().String())
	e.SetSpanID(pcommon.SpanID{8})
	r.send(entry)
	r.flush().want(t, gauge, 1)
	r.forget(r.clock.now() + int64(openFor) + 1)
	r.flush().want(t, gauge, 0)
}

// Whatever comes, memory stays what it was, and the newest are found.
func TestSkeletonsStayWithinTheirMemory(t *testing.T) {
	const bytes = 1 << 20
	ids := newIdentifier()
	s := newSkeletons(bytes, &ids)
	size := func() int {
		return len(s.callers.entries)*int(unsafe.Sizeof(caller{})) + len(s.waiting.entries)*int(unsafe.Sizeof(skeleton{})) +
			len(s.details.entries)*int(unsafe.Sizeof(ownedDetail{})) + len(s.open)*int(unsafe.Sizeof(openHop{})) +
			8*lineSize*(len(s.byKey)+len(s.byParent)) + 12*len(s.byHop.keys) + s.shapes.max
	}
	if size() > bytes || size() < bytes*9/10 {
		t.Fatalf("%d bytes of %d", size(), bytes)
	}
	before := size()
	found := 0
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 5 * len(s.waiting.entries) {
		b := bone{caller: caller{skeleton{key: random.Uint64(), parent: random.Uint64() | 1, end: 1e9, n: 1}, noDetail},
			form: form{kind: 2, service: "bank", where: time.Duration(i).String()}}
		if i%3 == 0 {
			b.parent = uint64(i/30)<<40 | 1 // many wait for one
		}
		if i%5 == 0 {
			b.kind, b.cause = 3, "local_deadline"
		}
		if i%7 == 0 {
			b.allowed = 1
		}
		b.hash = ids.form(&b.form, 0, 0)
		s.add(&b, func(orphan) { found++ })
	}
	if size() != before || s.shapes.left < 0 {
		t.Errorf("%d bytes, %d before", size(), before)
	}
	if s.evicted == 0 || found != 0 {
		t.Errorf("%d evicted, %d found", s.evicted, found)
	}
	call := bone{caller: caller{skeleton{key: 7, end: 1e9, n: 1}, noDetail}, form: form{kind: 3, service: "shop", cause: "local_deadline"}, hash: 1}
	served := bone{caller: caller{skeleton{key: 8, parent: 7, end: 3e9, n: 1}, noDetail}, form: form{kind: 2, flags: flagEntry, service: "bank", where: "/charge"}, hash: 2}
	s.add(&served, func(orphan) { found++ })
	s.add(&call, func(orphan) { found++ })
	if found != 1 {
		t.Error("the newest pair was not found")
	}
}

// The index behaves as a map.
func TestIndexAgreesWithAMap(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	x := newIndex(100)
	want := map[uint64]int32{}
	for range 20_000 {
		key := random.Uint64() >> 56 << 56 // they collide
		if random.IntN(2) == 0 && len(want) < 100 {
			at := int32(random.IntN(1000))
			x.put(key, at)
			want[key] = at
		} else {
			x.remove(key)
			delete(want, key)
		}
		for key, at := range want {
			if got, ok := x.get(key); !ok || got != at {
				t.Fatalf("%x is at %d, %v; want %d", key, got, ok, at)
			}
		}
	}
}
