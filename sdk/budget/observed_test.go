package budget_test

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

const policyFile = `{"version": 1, "accepted_false_timeout_rate": 0.001, "dependencies": [
	{"service": "chat", "stage": "rerank", "peer": "reranker", "cap_s": 1.5, "observed_limit_s": 0.42, "reserve_s": 0.05, "min_useful_s": 0.15},
	{"service": "other", "stage": "rerank", "cap_s": 9},
	{"stage": "retrieve", "cap_s": 0.8}
]}`

func TestPolicyFileBindsHops(t *testing.T) {
	limits, err := budget.ReadLimits(strings.NewReader(policyFile), "chat")
	if err != nil {
		t.Fatal(err)
	}
	r := newRecorder()
	ctx, entry, _ := edge(r, budget.Policy{Default: 10 * time.Second, Limits: limits}).Start(t.Context(), budget.Arrival{Name: "in"})
	for _, stage := range []string{"rerank", "retrieve", "unknown"} {
		_, hop, err := budget.StartHop(ctx, stage, budget.WithPeer("reranker"))
		if err != nil {
			t.Fatal(err)
		}
		hop.End(nil)
	}
	_, hop, _ := budget.StartHop(ctx, "rerank", budget.WithCap(100*time.Millisecond), budget.WithSpanName("said"))
	hop.End(nil)
	entry.End(nil)
	want(t, r.span(t, "rerank"), map[string]any{
		budgetattr.BindingKey: "observed", budgetattr.AllowanceKey: 420 * time.Millisecond, budgetattr.CapKey: 1500 * time.Millisecond,
		budgetattr.ReserveKey: 50 * time.Millisecond, budgetattr.MinUsefulKey: 150 * time.Millisecond,
	})
	want(t, r.span(t, "retrieve"), map[string]any{budgetattr.BindingKey: "cap", budgetattr.CapKey: 800 * time.Millisecond})
	want(t, r.span(t, "unknown"), map[string]any{budgetattr.BindingKey: "budget", budgetattr.CapKey: nil})
	want(t, r.span(t, "said"), map[string]any{budgetattr.BindingKey: "cap", budgetattr.CapKey: 100 * time.Millisecond})

	for _, bad := range []string{``, `{}`, `{"version":2}`, `{"version":1,"dependencies":[{"cap_s":-1}]}`, `{"version":1,"dependencies":[{"cap_s":1e300}]}`, `{"version":1,"dependencies":[{"reserve_s":"x"}]}`} {
		if _, err := budget.ReadLimits(strings.NewReader(bad), ""); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
	if _, err := budget.LoadLimits("/does/not/exist", ""); err == nil {
		t.Error("a missing file was read")
	}
}

func FuzzReadLimits(f *testing.F) {
	f.Add(policyFile)
	f.Fuzz(func(t *testing.T, s string) {
		if l, err := budget.ReadLimits(strings.NewReader(s), "chat"); err == nil {
			if d, ok := l.Lookup("rerank", "reranker"); ok {
				if c, set := d.Cap.Get(); set && c < 0 || d.Reserve < 0 || d.MinUseful < 0 {
					t.Errorf("%+v", d)
				}
			}
		}
	})
}

// The estimated limit cuts no more than the accepted share of good calls, and calls that it cut do not tighten it.
func TestEstimatorKeepsTheAcceptedRate(t *testing.T) {
	e := budget.NewEstimator(0.01)
	if _, ok := e.Limit("s", "p").Get(); ok {
		t.Error("a limit from nothing")
	}
	rng := rand.New(rand.NewPCG(1, 2))
	sample := func() time.Duration { return time.Duration((20 + 30*rng.ExpFloat64()) * float64(time.Millisecond)) }
	for i := range 20_000 {
		if _, ok := e.Limit("s", "p").Get(); ok != (i >= budget.EstimatorMinSamples) {
			t.Fatalf("limit after %d calls: %v", i, ok)
		}
		d := sample()
		if l, ok := e.Limit("s", "p").Get(); ok && d > l {
			e.Observe("s", "p", l, true)
		} else {
			e.Observe("s", "p", d, false)
		}
	}
	limit, _ := e.Limit("s", "p").Get()
	cut := 0
	for range 100_000 {
		if sample() > limit {
			cut++
		}
	}
	if cut > 1500 || cut < 300 {
		t.Errorf("limit %v cuts %d of 100000, accepted 1000", limit, cut)
	}
}

func TestEstimatorBindsHops(t *testing.T) {
	e := budget.NewEstimator(0)
	for range 200 {
		e.Observe("s", "", 10*time.Millisecond, false)
	}
	ctx, entry, _ := edge(newRecorder(), budget.Policy{Default: time.Minute, Estimator: e}).Start(t.Context(), budget.Arrival{})
	defer entry.End(nil)
	_, hop, err := budget.StartHop(ctx, "s")
	if a, _ := hop.Allowance(); err != nil || a < 20*time.Millisecond || a > 30*time.Millisecond {
		t.Errorf("allowance %v %v", a, err)
	}
	hop.End(nil)
	if _, _, err := budget.StartHop(ctx, "s", budget.WithMinUseful(time.Second)); !errors.Is(err, budget.ErrExhausted) {
		t.Errorf("err %v", err)
	}
}
