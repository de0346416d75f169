package natsjs_test

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"bytes"
	"encoding/json"

	"github.com/laxity-dev/laxity/sdk/adapters/internal/natsserver"
	"github.com/laxity-dev/laxity/sdk/adapters/natsjs"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/envelope"
	"github.com/laxity-dev/laxity/sdk/record/recordtest"
)

func TestRecordsKeepTheContract(t *testing.T) {
	kv, err := natsserver.Start(t).Connect(t).CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: "contract"})
	if err != nil {
		t.Fatal(err)
	}
	recordtest.Run(t, natsjs.Records(kv))
}

// The published schema accepts what is sent, and refuses what Validate refuses by form.
func TestSchemaAcceptsWhatIsSent(t *testing.T) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(envelope.Schema))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource("envelope.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("envelope.json")
	if err != nil {
		t.Fatal(err)
	}
	e, err := envelope.New(t.Context(), envelope.NewClock(), envelope.Spec{
		ID: "a", Limit: time.Minute, Attempts: 3, MinUseful: 1500 * time.Millisecond, ExpiresAt: time.Now().Add(time.Hour), Reason: "because",
	})
	if err != nil {
		t.Fatal(err)
	}
	again, err := envelope.Regrant(t.Context(), envelope.NewClock(), e, "someone", envelope.Spec{ID: "b", Limit: time.Minute, Reason: "late"})
	if err != nil {
		t.Fatal(err)
	}
	check := func(v any) error {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		return schema.Validate(doc)
	}
	for _, good := range []envelope.Envelope{e, again} {
		if err := check(good); err != nil {
			t.Error(err)
		}
	}
	for name, spoil := range map[string]func(*envelope.Envelope){
		"wildcard":  func(e *envelope.Envelope) { e.WorkID = "*" },
		"deep":      func(e *envelope.Envelope) { e.CancellationID = "a..b" },
		"negative":  func(e *envelope.Envelope) { e.Waited = -1 },
		"attempts":  func(e *envelope.Envelope) { e.AttemptsLeft = -2 },
		"by nobody": func(e *envelope.Envelope) { e.RegrantOf, e.Regrants = "x", 1 },
	} {
		bad := e
		spoil(&bad)
		if check(bad) == nil || bad.Validate() == nil {
			t.Errorf("%s: schema says %v, Validate %v", name, check(bad), bad.Validate())
		}
	}
}

// The broker goes away and comes back over its files: the work is still there and runs once.
func TestABrokerThatRestartsLosesNothing(t *testing.T) {
	s := newSystem(t)
	e := s.send(t.Context(), "job", envelope.Spec{ID: "job-1", Limit: time.Minute})
	s.server.Restart(t)
	s.eventually("the client is back", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := envelope.GetUnit(ctx, s.store, e.CancellationID)
		return err == nil
	})
	d := next(t, s.work("job", func(context.Context, *envelope.Run, []byte) error { return nil }))
	if d.Outcome != budgetattr.OutcomeDone {
		t.Errorf("%+v", d)
	}
	s.checks(nil, "job-1")
}

// The same unit sent twice runs once.
func TestSendingTwiceRunsOnce(t *testing.T) {
	s := newSystem(t)
	e := s.send(t.Context(), "job", envelope.Spec{ID: "job-1", Limit: time.Minute})
	s.must(s.pub.Send(t.Context(), "work.job", e, nil))
	var ran log
	said := s.work("job", func(_ context.Context, r *envelope.Run, payload []byte) error {
		ran.add(r.ID() + " " + string(payload))
		return nil
	})
	next(t, said)
	s.send(t.Context(), "job", envelope.Spec{ID: "job-2", Limit: time.Minute})
	next(t, said)
	if lines := ran.all(); len(lines) != 2 || lines[0] != "job-1 payload" {
		t.Errorf("%v", lines)
	}
}
