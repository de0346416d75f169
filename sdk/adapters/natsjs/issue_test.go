package natsjs_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/laxity-dev/laxity/sdk/adapters/natsjs"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/envelope"
)

// More units than slots, each longer than the broker waits for a silent worker: none is delivered twice.
func TestIssueWhatWaitsForASlotIsNotDeliveredTwice(t *testing.T) {
	s := newSystem(t)
	const units = 16
	for i := range units {
		s.send(t.Context(), "job", envelope.Spec{ID: "u" + string(rune('a'+i)), Limit: time.Minute, Attempts: 1})
	}
	work := func(context.Context, *envelope.Run, []byte) error {
		time.Sleep(2 * ackWait) // longer than the broker waits without a sign of life
		return nil
	}
	one, other := s.work("job", work), s.work("job", work)
	for range units {
		var d envelope.Disposition
		select {
		case d = <-one:
		case d = <-other:
		case <-time.After(30 * time.Second):
			t.Fatal("nothing came within 30 s")
		}
		if d.Outcome != budgetattr.OutcomeDone || d.Reason != "" {
			t.Errorf("%+v", d)
		}
	}
	for i := range units {
		if u := s.unit("u" + string(rune('a'+i))); u.Run != 1 || u.LateCount != 0 || u.Outcome != budgetattr.OutcomeDone {
			t.Errorf("%s: run %d, %d late, %s", u.ID(), u.Run, u.LateCount, u.Outcome)
		}
	}
}

// Messages of writers in other languages, and of nobody who knows the format.
func TestIssueMessagesOfOtherWriters(t *testing.T) {
	s := newSystem(t)
	e, err := envelope.New(t.Context(), s.clock, envelope.Spec{ID: "job", Limit: time.Minute})
	s.must(err)
	mine := &nats.Msg{Subject: "work.job", Header: nats.Header{}}
	s.must(e.Inject(lower(mine.Header)))
	trace := "0af7651916cd43dd8448eb211c80319c"
	mine.Header["traceparent"] = []string{"00-" + trace + "-b7ad6b7169203331-01"}
	for _, msg := range []*nats.Msg{{Subject: "work.job", Data: []byte("no envelope")}, mine} {
		_, err := s.js.PublishMsg(t.Context(), msg)
		s.must(err)
	}
	said := s.work("job", func(context.Context, *envelope.Run, []byte) error { return nil })
	got := map[budgetattr.Outcome]int{}
	for range 2 {
		got[next(t, said).Outcome]++
	}
	if got[budgetattr.OutcomeRejected] != 1 || got[budgetattr.OutcomeDone] != 1 {
		t.Errorf("%v", got)
	}
	for _, span := range s.spans.Ended() {
		if attributesOf(span)[budgetattr.WorkIDKey].AsString() == "job" && span.SpanContext().TraceID().String() != trace {
			t.Errorf("%s is in trace %s", span.Name(), span.SpanContext().TraceID())
		}
	}
}

// lower writes headers with lower-case names.
type lower nats.Header

func (l lower) Get(key string) string { return nats.Header(l).Get(strings.ToLower(key)) }
func (l lower) Set(key, value string) { l[strings.ToLower(key)] = []string{value} }
func (l lower) Keys() []string        { return nil }

// Expired work that is routed to where its worker takes it from does not go in circles.
func TestIssueRoutedWorkIsNotRoutedAgain(t *testing.T) {
	s := newSystem(t)
	e := s.send(t.Context(), "job", envelope.Spec{ID: "job", Limit: 50 * time.Millisecond, ExpiredTo: "work.job"})
	time.Sleep(time.Until(e.DeadlineAt) + 10*time.Millisecond) // it waits in the broker
	said := s.work("job", func(context.Context, *envelope.Run, []byte) error { return nil })
	next(t, said)
	next(t, said)
	stream, err := s.js.Stream(t.Context(), "WORK")
	s.must(err)
	consumer, err := stream.Consumer(t.Context(), "job")
	s.must(err)
	s.eventually("nothing is left to deliver", func() bool {
		info, err := consumer.Info(context.Background())
		s.must(err)
		return info.NumPending == 0 && info.NumAckPending == 0
	})
	info, err := stream.Info(t.Context())
	s.must(err)
	if info.State.Msgs != 2 {
		t.Errorf("%d messages", info.State.Msgs)
	}
	msg, err := stream.GetMsg(t.Context(), 2)
	s.must(err)
	if msg.Header.Get(natsjs.HeaderRefusal) != string(envelope.RefusedExpired) {
		t.Errorf("%v", msg.Header)
	}
}
