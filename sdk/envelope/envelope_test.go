package envelope_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/propagation"
	"pgregory.net/rapid"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/envelope"
)

// granted returns the context of a request with a budget.
func granted(t *testing.T, d time.Duration) context.Context {
	ctx, entry, err := budget.NewEdge(budget.Policy{Default: d}).Start(t.Context(), budget.Arrival{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { entry.End(nil) })
	return ctx
}

func TestNewNeverOutlivesItsParent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := envelope.NewClock()
		ctx := granted(t, 10*time.Second)
		time.Sleep(3 * time.Second)
		e, err := envelope.New(ctx, clock, envelope.Spec{ID: "child", Limit: time.Hour, Reserve: 2 * time.Second})
		if err != nil || time.Until(e.DeadlineAt) != 5*time.Second {
			t.Errorf("%v left, %v", time.Until(e.DeadlineAt), err)
		}
		if e, err = envelope.New(ctx, clock, envelope.Spec{ID: "child", Limit: time.Second}); err != nil || time.Until(e.DeadlineAt) != time.Second {
			t.Errorf("%v left, %v", time.Until(e.DeadlineAt), err)
		}
		_, err = envelope.New(ctx, clock, envelope.Spec{ID: "child", MinUseful: 8 * time.Second})
		if x, ok := errors.AsType[*budget.ExhaustedError](err); !ok || !x.Refused || x.Allowance != 7*time.Second {
			t.Errorf("too little: %v", err)
		}
		if _, err = envelope.New(t.Context(), clock, envelope.Spec{ID: "child"}); !errors.Is(err, envelope.ErrInvalid) {
			t.Errorf("no limit: %v", err)
		}
		time.Sleep(8 * time.Second)
		if _, err = envelope.New(ctx, clock, envelope.Spec{ID: "child", Limit: time.Hour}); !errors.Is(err, budget.ErrExhausted) {
			t.Errorf("parent over: %v", err)
		}
	})
}

func TestRegrantIsAPersonsAndLinked(t *testing.T) {
	clock := envelope.NewClock()
	old, err := envelope.New(t.Context(), clock, envelope.Spec{ID: "report", Limit: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	old.Attempts, old.Waited = map[string]int{"queue": 2}, envelope.Seconds(time.Second)
	if _, err := envelope.Regrant(t.Context(), clock, old, "", envelope.Spec{ID: "report-2", Limit: time.Minute}); !errors.Is(err, envelope.ErrInvalid) {
		t.Errorf("nobody granted it: %v", err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	e, err := envelope.Regrant(over, clock, old, "duty manager", envelope.Spec{ID: "report-2", Limit: time.Hour, Reason: "customer waits"})
	if err != nil {
		t.Fatal(err)
	}
	if e.RegrantOf != "report" || e.Regrants != 1 || e.Attempts["queue"] != 2 || e.Waited != old.Waited || time.Until(e.DeadlineAt) < 59*time.Minute {
		t.Errorf("%+v", e)
	}
}

// The two wire forms hold every field.
func TestWireFormsKeepEverything(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		name := rapid.StringMatching(`[A-Za-z0-9_-]{1,64}`)
		text := rapid.StringMatching(`[ -~]{0,20}`)
		seconds := rapid.Int64Range(0, int64(100*24*time.Hour))
		created := time.Unix(rapid.Int64Range(0, 4e9).Draw(r, "created"), rapid.Int64Range(0, 1e9-1).Draw(r, "ns")).UTC()
		e := envelope.Envelope{
			WorkID: name.Draw(r, "id"), ParentID: name.Draw(r, "parent"), CreatedAt: created,
			QueuedAt: created.Add(time.Duration(seconds.Draw(r, "queued"))), Clock: name.Draw(r, "clock"),
			DeadlineAt: created.Add(time.Duration(seconds.Draw(r, "deadline"))), NeededBy: created.Add(time.Hour),
			Class: strings.TrimSpace(text.Draw(r, "class")), MinUseful: envelope.Seconds(seconds.Draw(r, "useful")), Synthesis: 1,
			Attempts: map[string]int{name.Draw(r, "layer"): rapid.IntRange(0, 9).Draw(r, "n"), "queue": 1}, AttemptsLeft: rapid.IntRange(-1, 9).Draw(r, "left"),
			Waited: 1500, Costs: map[string]float64{"token": rapid.Float64Range(0, 1e9).Draw(r, "cost")}, Owner: name.Draw(r, "owner"),
			ExpiredTo: name.Draw(r, "to"), Reason: strings.TrimSpace(text.Draw(r, "reason")),
		}
		e.CancellationID = name.Draw(r, "root") + "." + e.WorkID
		if rapid.Bool().Draw(r, "regrant") {
			e.RegrantOf, e.GrantedBy, e.Regrants, e.ExpiresAt = "old", "someone", 2, created.Add(time.Minute)
		}
		b, err := json.Marshal(e)
		if err != nil {
			r.Fatal(err)
		}
		got, err := envelope.Parse(b)
		if err != nil || !reflect.DeepEqual(got, e) {
			r.Fatalf("JSON: %v\n%+v\n%+v", err, e, got)
		}
		headers := propagation.MapCarrier{}
		if err := e.Inject(headers); err != nil {
			r.Fatal(err)
		}
		got, err = envelope.Extract(headers)
		if err != nil || !reflect.DeepEqual(got, e) {
			r.Fatalf("headers %v: %v\n%+v\n%+v", headers, err, e, got)
		}
	})
}

func FuzzExtract(f *testing.F) {
	e, err := envelope.New(context.Background(), envelope.NewClock(), envelope.Spec{ID: "a", Limit: time.Minute, Attempts: 3})
	if err != nil {
		f.Fatal(err)
	}
	b, _ := json.Marshal(e)
	f.Add(string(b), "queue=1,sdk=2", "1.5")
	f.Add("{}", "=", "1e400")
	f.Fuzz(func(t *testing.T, doc, attempts, seconds string) {
		got, err := envelope.Parse([]byte(doc))
		if err == nil && (got.Validate() != nil || got.MinUseful < 0) {
			t.Errorf("believed %s", doc)
		}
		h := propagation.MapCarrier{}
		if e.Inject(h) != nil {
			t.Fatal("inject")
		}
		h["work-attempts"], h["work-min-useful-s"] = attempts, seconds
		if got, err := envelope.Extract(h); err == nil && got.Validate() != nil {
			t.Errorf("believed %v", h)
		}
	})
}

// The schema names exactly the fields of the type, and requires those without omitempty.
func TestSchemaDescribesTheType(t *testing.T) {
	var schema struct {
		Required   []string
		Properties map[string]any
	}
	if err := json.Unmarshal(envelope.Schema, &schema); err != nil {
		t.Fatal(err)
	}
	var required []string
	for f := range reflect.TypeFor[envelope.Envelope]().Fields() {
		name, opt, _ := strings.Cut(f.Tag.Get("json"), ",")
		if _, ok := schema.Properties[name]; !ok {
			t.Errorf("the schema lacks %s", name)
		}
		delete(schema.Properties, name)
		if opt == "" {
			required = append(required, name)
		}
	}
	for name := range schema.Properties {
		t.Errorf("the schema has %s, the type has not", name)
	}
	slices.Sort(required)
	slices.Sort(schema.Required)
	if !slices.Equal(required, schema.Required) {
		t.Errorf("required: schema %v, type %v", schema.Required, required)
	}
}

func TestValidateRefusesWhatCannotBe(t *testing.T) {
	good, err := envelope.New(t.Context(), envelope.NewClock(), envelope.Spec{ID: "a", Limit: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*envelope.Envelope){
		"no id":            func(e *envelope.Envelope) { e.WorkID = "" },
		"foreign path":     func(e *envelope.Envelope) { e.CancellationID = "root.b" },
		"wildcard":         func(e *envelope.Envelope) { e.WorkID, e.CancellationID = "*", "*" },
		"no deadline":      func(e *envelope.Envelope) { e.DeadlineAt = time.Time{} },
		"before creation":  func(e *envelope.Envelope) { e.DeadlineAt = e.CreatedAt.Add(-1) },
		"negative time":    func(e *envelope.Envelope) { e.Synthesis = -1 },
		"negative count":   func(e *envelope.Envelope) { e.Attempts = map[string]int{"queue": -1} },
		"attempts":         func(e *envelope.Envelope) { e.AttemptsLeft = -2 },
		"regrant by none":  func(e *envelope.Envelope) { e.RegrantOf, e.Regrants = "b", 1 },
		"cost":             func(e *envelope.Envelope) { e.Costs = map[string]float64{"token": -1} },
		"queued too early": func(e *envelope.Envelope) { e.QueuedAt = e.CreatedAt.Add(-1) },
	} {
		e := good
		spoil(&e)
		if err := e.Validate(); !errors.Is(err, envelope.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if good.Validate() != nil {
		t.Error("the good one")
	}
}

// A clock with a reference takes nothing for granted that the reference did not say.
func TestClockMeasuresItsOffset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		skewed := envelope.NewClock(envelope.WithNow(func() time.Time { return time.Now().Add(-30 * time.Second) }))
		if r := skewed.Read(); r.Reference != "" || r.Unsure != envelope.DefaultTolerance {
			t.Errorf("without reference: %+v", r)
		}
		trip := 10 * time.Millisecond
		err := skewed.Measure(t.Context(), "broker", func(context.Context) (time.Time, error) {
			time.Sleep(trip)
			at := time.Now()
			time.Sleep(3 * trip)
			return at, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		r := skewed.Read()
		if off := time.Until(r.At).Abs(); r.Reference != "broker" || off > r.Unsure || r.Unsure > 25*time.Millisecond {
			t.Errorf("off by %v of %v", off, r.Unsure)
		}
		time.Sleep(1000 * time.Second)
		if later := skewed.Read().Unsure; later-r.Unsure < 99*time.Millisecond {
			t.Errorf("drift does not count: %v, %v", r.Unsure, later)
		}
		if err := skewed.Measure(t.Context(), "broker", func(context.Context) (time.Time, error) { return time.Time{}, errors.New("away") }); err == nil {
			t.Error("a reference that is away")
		}
	})
}
