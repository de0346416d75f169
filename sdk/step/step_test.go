package step_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/budgethttp"
	"github.com/laxity-dev/laxity/sdk/budgettest"
	"github.com/laxity-dev/laxity/sdk/step"
)

const ms = time.Millisecond

// request starts one recorded request in a bubble.
func request(t *testing.T, p budget.Policy) (context.Context, *budget.Entry, *budgettest.Recorder) {
	t.Helper()
	r := budgettest.NewRecorder()
	ctx, entry, err := r.Edge(p).Start(t.Context(), budget.Arrival{Name: "in"})
	if err != nil {
		t.Fatal(err)
	}
	return ctx, entry, r
}

// takes returns work that takes d and then gives the value, and heeds its context.
func takes[Out any](d time.Duration, value Out) step.Func[string, Out] {
	return func(ctx context.Context, _ string) (Out, error) {
		var none Out
		select {
		case <-time.After(d):
			return value, nil
		case <-ctx.Done():
			return none, ctx.Err()
		}
	}
}

func raw(in string) string { return "raw " + in }

var errUnavailable = errors.New("unavailable")

// fails returns work that fails after d.
func fails(d time.Duration) step.Func[string, string] {
	return func(ctx context.Context, _ string) (string, error) {
		select {
		case <-time.After(d):
			return "", errUnavailable
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

// fiveSteps is a chain with three optional steps, each as slow as given.
func fiveSteps(takesEach [5]time.Duration) (func(context.Context) (string, error), *step.Chain) {
	rewrite := step.Optional("rewrite", takes(takesEach[0], "rewritten"), raw, step.Terms{Expected: 100 * ms, Variability: 50 * ms, Cap: 300 * ms})
	retrieve := step.Required("retrieve", takes(takesEach[1], "docs"), step.Terms{Expected: 200 * ms, Variability: 100 * ms, Cap: 600 * ms}).
		Or(step.Fallback[string, string]{Name: "cache", Do: takes(20*ms, "cached"), Reserve: 50 * ms, Meets: "yesterday's documents answer most questions"})
	rerank := step.Optional("rerank", takes(takesEach[2], "ranked"), raw, step.Terms{Expected: 100 * ms, Variability: 50 * ms, Cap: 300 * ms})
	generate := step.Required("generate", takes(takesEach[3], "answer"), step.Terms{Expected: 500 * ms, Variability: 200 * ms}).
		Or(step.Fallback[string, string]{Name: "small-model", Do: takes(150*ms, "short answer"), Reserve: 200 * ms, Meets: "short answers are allowed by the product"})
	check := step.Optional("check", takes(takesEach[4], "checked"), raw, step.Terms{Expected: 50 * ms, Variability: 20 * ms, Cap: 200 * ms})
	chain := step.NewChain(rewrite, retrieve, rerank, generate, check)
	return func(ctx context.Context) (string, error) {
		ctx = chain.Start(ctx)
		text := "question"
		for _, s := range []*step.Step[string, string]{rewrite, retrieve, rerank, generate, check} {
			var err error
			if text, err = step.Run(ctx, s, text); err != nil {
				return "", err
			}
		}
		return text, nil
	}, chain
}

func TestT1_WithinBudgetWithEveryStepAtItsWorst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, entry, r := request(t, budget.Policy{Default: 2 * time.Second, Reserve: 75 * ms})
		start := time.Now()
		run, _ := fiveSteps([5]time.Duration{time.Hour, time.Hour, time.Hour, time.Hour, time.Hour})
		text, err := run(ctx)
		if err != nil || !strings.Contains(text, "short answer") {
			t.Errorf("answer %q, %v", text, err)
		}
		entry.End(err)
		if took := time.Since(start); took > 2*time.Second-75*ms {
			t.Errorf("took %v", took)
		}
		budgettest.WithinBudget(t, r)
		budgettest.Stopped(t, r, 0)
		budgettest.Decided(t, r, "generate", budgetattr.DecisionFallback)
		budgettest.Decided(t, r, "small-model", budgetattr.DecisionFallback)
	})
}

func TestT2_EachOptionalStepSlowInTurn(t *testing.T) {
	names := [5]string{"rewrite", "retrieve", "rerank", "generate", "check"}
	for _, slow := range []int{0, 2, 4} {
		t.Run(names[slow], func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				each := [5]time.Duration{50 * ms, 100 * ms, 50 * ms, 300 * ms, 20 * ms}
				each[slow] = time.Hour
				ctx, entry, r := request(t, budget.Policy{Default: 2 * time.Second})
				run, _ := fiveSteps(each)
				text, err := run(ctx)
				if err != nil || text == "" {
					t.Errorf("answer %q, %v", text, err)
				}
				if d := step.Degraded(ctx); len(d) != 1 || d[0] != names[slow] {
					t.Errorf("degraded %v", d)
				}
				entry.End(err)
				budgettest.WithinBudget(t, r)
				budgettest.Decided(t, r, names[slow], budgetattr.DecisionSkip)
				if o := r.Entries()[0].Text(budgetattr.OutcomeKey); o != string(budgetattr.OutcomeDegraded) {
					t.Errorf("outcome %s", o)
				}
			})
		})
	}
}

// The caller reads from the header which stages its answer goes without.
func TestT2_CallerIsTold(t *testing.T) {
	r := budgettest.NewRecorder()
	slow := step.Optional("rerank", takes(time.Hour, ""), raw, step.Terms{Cap: 20 * ms})
	handler := budgethttp.NewMiddleware(budget.Policy{Default: 5 * time.Second}, budgethttp.WithTracerProvider(r.TracerProvider()))(
		http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			text, err := step.Run(req.Context(), slow, "docs")
			if err != nil {
				t.Error(err)
			}
			_, _ = io.WriteString(w, text)
		}))
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	if d := w.Header().Get(budgetattr.HeaderDegraded); d != "rerank" || w.Body.String() != "raw docs" {
		t.Errorf("degraded %q, body %q", d, w.Body.String())
	}
}

func TestT4_BudgetSpentEarlyStartsNothingLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, entry, r := request(t, budget.Policy{Default: time.Second, Reserve: 50 * ms})
		called := 0
		count := func(context.Context, string) (string, error) { called++; return "", nil }
		time.Sleep(900 * ms)
		optional := step.Optional("rerank", count, raw, step.Terms{Expected: 100 * ms})
		required := step.Required("generate", count, step.Terms{MinUseful: 300 * ms})
		if text, err := step.Run(ctx, optional, "x"); err != nil || text != "raw x" {
			t.Errorf("%q, %v", text, err)
		}
		if _, err := step.Run(ctx, required, "x"); !errors.Is(err, budget.ErrExhausted) {
			t.Errorf("err %v", err)
		}
		entry.End(nil)
		if called > 0 {
			t.Errorf("%d steps were started", called)
		}
		budgettest.NeverStarted(t, r, "rerank", "generate")
		budgettest.Decided(t, r, "rerank", budgetattr.DecisionSkip)
		budgettest.Decided(t, r, "generate", budgetattr.DecisionReject)
	})
}

func TestT5_DegradedProviderDoesNotPileUpConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := budgettest.NewProvider(t, budgettest.InMemory())
		p.Answer(budgettest.Freeze())
		r := budgettest.NewRecorder()
		edge := r.Edge(budget.Policy{Default: 2 * time.Second})
		client := &http.Client{Transport: budgethttp.NewTransport(p.Transport())}
		call := step.Required("provider", func(ctx context.Context, _ string) (string, error) { return get(ctx, client, p.URL) },
			step.Terms{MinUseful: 100 * ms, Cap: 500 * ms, Retry: step.Retry{Attempts: 3}})
		// Each request has one connection at a time, for three attempts of half a second.
		const rate, requests = 20, 200
		var all sync.WaitGroup
		for range requests {
			all.Go(func() {
				ctx, entry, err := edge.Start(t.Context(), budget.Arrival{Name: "in"})
				if err == nil {
					_, err = step.Run(ctx, call, "")
				}
				entry.End(err)
				if err == nil {
					t.Error("no error")
				}
			})
			time.Sleep(time.Second / rate)
		}
		all.Wait()
		if most := p.Stats().MaxConnections; most > rate*3/2+4 {
			t.Errorf("%d connections at the same time", most)
		}
		budgettest.Quiet(t, p, 0)
	})
}

func TestT3_ClientLeavesAndTheProviderSeesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := budgettest.NewProvider(t, budgettest.InMemory())
		p.Answer(budgettest.Headers(), budgettest.Freeze())
		r := budgettest.NewRecorder()
		base, leave := context.WithCancel(t.Context())
		ctx, entry, _ := r.Edge(budget.Policy{Default: time.Hour}).Start(base, budget.Arrival{Name: "in", ParentCause: budgetattr.CauseClientDisconnect})
		client := &http.Client{Transport: budgethttp.NewTransport(p.Transport())}
		call := step.Required("provider", func(ctx context.Context, _ string) (string, error) { return get(ctx, client, p.URL) }, step.Terms{Retry: step.Retry{Attempts: 3}})
		time.AfterFunc(time.Second, leave)
		_, err := step.Run(ctx, call, "")
		entry.End(err)
		if !errors.Is(err, context.Canceled) || errors.Is(err, budget.ErrExhausted) {
			t.Errorf("err %v", err)
		}
		budgettest.Quiet(t, p, 0)
		budgettest.Stopped(t, r, 0)
		if n := p.Stats().Requests; n != 1 {
			t.Errorf("%d requests", n)
		}
		if c := r.Last(t, "provider").Text(budgetattr.CancelCauseKey); c != string(budgetattr.CauseClientDisconnect) {
			t.Errorf("cause %s", c)
		}
	})
}

func TestT19_RetryOnlyWithEnoughRemainder(t *testing.T) {
	terms := step.Terms{Expected: 300 * ms, Variability: 50 * ms, Retry: step.Retry{Attempts: 3, Wait: 100 * ms, Jitter: -1}}
	for _, c := range []struct {
		budget   time.Duration
		attempts int
		reason   step.Reason
	}{
		{2 * time.Second, 3, ""},
		// The first attempt ends at 200 ms; back-off, a realistic attempt and the reserve take 100 + 350 + 75.
		{724 * ms, 1, step.ReasonBudget},
		{725 * ms, 2, step.ReasonBudget},
	} {
		t.Run(c.budget.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, entry, r := request(t, budget.Policy{Default: c.budget, Reserve: 75 * ms})
				start := time.Now()
				res, err := step.RunResult(ctx, step.Required("call", fails(200*ms), terms), "")
				entry.End(err)
				if !errors.Is(err, errUnavailable) || res.Attempts != c.attempts || res.SkippedReason != c.reason {
					t.Errorf("%d attempts, skipped for %q, err %v", res.Attempts, res.SkippedReason, err)
				}
				if time.Since(start) > c.budget {
					t.Errorf("took %v", time.Since(start))
				}
				last := r.Last(t, "call")
				if got := last.Text(budgetattr.RetriesSkippedReasonKey); got != string(c.reason) {
					t.Errorf("recorded reason %q", got)
				}
				if len(r.Stage("call")) != c.attempts {
					t.Errorf("%d hops", len(r.Stage("call")))
				}
			})
		})
	}
}

func TestT28_BackoffMustNotFillTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, entry, _ := request(t, budget.Policy{Default: 5 * time.Second})
		defer entry.End(nil)
		busy := func(context.Context, string) (string, error) {
			return "", &step.StatusError{Code: 429, RetryAfter: 6 * time.Second}
		}
		start := time.Now()
		res, err := step.RunResult(ctx, step.Required("call", busy, step.Terms{Retry: step.Retry{Attempts: 5}}), "")
		if err == nil || res.SkippedReason != step.ReasonRetryAfter || time.Since(start) > 0 {
			t.Errorf("%v after %v, reason %q", err, time.Since(start), res.SkippedReason)
		}
		soon := func(context.Context, string) (string, error) {
			return "", &backoff.RetryAfterError{Duration: time.Second}
		}
		res, _ = step.RunResult(ctx, step.Required("call", soon, step.Terms{Retry: step.Retry{Attempts: 2, Jitter: -1}}), "")
		if res.Attempts != 2 || res.Backoff != time.Second {
			t.Errorf("%d attempts, waited %v", res.Attempts, res.Backoff)
		}
	})
}

func TestT41_SuccessOnTheThirdAttemptReportsAllThree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, entry, r := request(t, budget.Policy{Default: time.Minute})
		n := 0
		third := func(context.Context, string) (string, error) {
			n++
			time.Sleep(100 * ms)
			if n < 3 {
				return "", errUnavailable
			}
			return "ok", nil
		}
		s := step.Required("call", third, step.Terms{Retry: step.Retry{Attempts: 3, Wait: 200 * ms, Jitter: -1}})
		res, err := step.RunResult(ctx, s, "")
		entry.End(err)
		if err != nil || res.Value != "ok" || res.Attempts != 3 || res.Backoff != 600*ms || res.Elapsed != 900*ms {
			t.Errorf("%+v, %v", res, err)
		}
		hops := r.Stage("call")
		if len(hops) != 3 {
			t.Fatalf("%d hops", len(hops))
		}
		for i, h := range hops {
			if h.Int(budgetattr.AttemptKey) != i+1 || h.Text(budgetattr.AttemptLayerKey) != "call" || h.SpanContext().TraceID() != hops[0].SpanContext().TraceID() {
				t.Errorf("hop %d is attempt %d of %s", i, h.Int(budgetattr.AttemptKey), h.Text(budgetattr.AttemptLayerKey))
			}
		}
		whole, _ := hops[2].Seconds(budgetattr.CompleteTimeKey)
		waited, _ := hops[2].Seconds(budgetattr.BackoffKey)
		if whole != 900*ms || waited != 600*ms || hops[2].Int(budgetattr.AttemptsTotalKey) != 3 {
			t.Errorf("whole %v, waited %v, total %d", whole, waited, hops[2].Int(budgetattr.AttemptsTotalKey))
		}
	})
}

func TestT29_ChildThatIgnoresCancellation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, entry, r := request(t, budget.Policy{Default: 2 * time.Second})
		deaf := func(context.Context, string) (string, error) { time.Sleep(3 * time.Second); return "too late", nil }
		s := step.Optional("deaf", deaf, raw, step.Terms{Cap: 500 * ms})
		start := time.Now()
		text, err := step.Run(ctx, s, "x")
		if text != "raw x" || err != nil || time.Since(start) > 700*ms {
			t.Errorf("%q, %v after %v", text, err, time.Since(start))
		}
		entry.End(nil)
		if n := r.Entries()[0].Int(budgetattr.OpenChildrenKey); n != 1 {
			t.Errorf("%d hops are named as running on", n)
		}
		time.Sleep(5 * time.Second)
		hop := r.Last(t, "deaf")
		if over, _ := hop.Seconds(budgetattr.PostCancelTimeKey); over != 2500*ms || hop.Decision() != budgetattr.DecisionSkip {
			t.Errorf("worked on for %v, decision %s", over, hop.Decision())
		}
	})
}

func TestT35_AlternativeDoesNotFitEither(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, entry, r := request(t, budget.Policy{Default: 500 * ms})
		never := func(context.Context, string) (string, error) { t.Error("started"); return "", nil }
		s := step.Required("model", never, step.Terms{Expected: time.Second, Refusal: budgetattr.DecisionPending}).
			Or(step.Fallback[string, string]{Name: "small-model", Do: never, MinUseful: 600 * ms, Meets: "short answers do"})
		start := time.Now()
		_, err := step.Run(ctx, s, "")
		var unmet *step.UnmetError
		if !errors.As(err, &unmet) || unmet.Decision != budgetattr.DecisionPending || !errors.Is(err, budget.ErrExhausted) || time.Since(start) > 0 {
			t.Errorf("err %v after %v", err, time.Since(start))
		}
		entry.End(err)
		budgettest.NeverStarted(t, r, "model", "small-model")
		budgettest.Decided(t, r, "small-model", budgetattr.DecisionPending)
	})
}

func TestT37_MainStepCannotEatTheFinalReserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, entry, r := request(t, budget.Policy{Default: 2 * time.Second, Reserve: 100 * ms})
		research := step.Optional("research", takes(time.Hour, ""), raw, step.Terms{})
		synthesis := step.Required("synthesis", takes(400*ms, "synthesis"), step.Terms{Expected: 400 * ms, Variability: 100 * ms})
		ctx = step.NewChain(research, synthesis).Start(ctx)
		start := time.Now()
		if _, err := step.Run(ctx, research, ""); err != nil {
			t.Error(err)
		}
		if took := time.Since(start); took != 1400*ms {
			t.Errorf("the main step took %v", took)
		}
		if text, err := step.Run(ctx, synthesis, ""); text != "synthesis" {
			t.Errorf("%q, %v", text, err)
		}
		entry.End(nil)
		budgettest.WithinBudget(t, r)
	})
}

// litellm 7303, code_puppy 317: three layers that retry multiply. The outermost owns retries.
func TestLayersDoNotMultiply(t *testing.T) {
	for _, hidden := range []int{1, 3} { // requests that a library sends for one
		t.Run(fmt.Sprint(hidden), func(t *testing.T) { synctest.Test(t, func(t *testing.T) { layers(t, hidden) }) })
	}
}

func layers(t *testing.T, hidden int) {
	p := budgettest.NewProvider(t, budgettest.InMemory())
	p.Answer(budgettest.Status(503))
	client := &http.Client{Transport: budgethttp.NewTransport(p.Transport())}
	ctx, entry, _ := request(t, budget.Policy{Default: time.Minute})
	defer entry.End(nil)
	retry := step.Terms{Retry: step.Retry{Attempts: 3}}
	library := func(ctx context.Context, _ string) (text string, err error) { // retries inside without telling
		for range hidden {
			if text, err = get(ctx, client, p.URL); err == nil {
				break
			}
		}
		return text, err
	}
	inner := step.Required("inner", library, retry)
	outer := step.Required("outer", func(ctx context.Context, _ string) (string, error) { return step.Run(ctx, inner, "") }, retry)
	if _, err := step.Run(ctx, outer, ""); err == nil {
		t.Error("no error")
	}
	if n := p.Stats().Requests; n != 3 {
		t.Errorf("%d requests", n)
	}
	for i, r := range p.Requests() {
		if got := r.Header.Get(budgetattr.HeaderAttempt); got != fmt.Sprint(i+1) {
			t.Errorf("request %d carries attempt %s", i+1, got)
		}
	}
}

// envoy 13196, kubernetes 117313: a retry tells the original timeout again. Each attempt carries what is left.
func TestEachAttemptCarriesWhatIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := budgettest.NewProvider(t, budgettest.InMemory())
		p.Answer(budgettest.Freeze())
		client := &http.Client{Transport: budgethttp.NewTransport(p.Transport())}
		ctx, entry, _ := request(t, budget.Policy{Default: 250 * ms})
		defer entry.End(nil)
		s := step.Required("call", func(ctx context.Context, _ string) (string, error) { return get(ctx, client, p.URL) },
			step.Terms{Cap: 100 * ms, Retry: step.Retry{Attempts: 9, Wait: ms, Jitter: -1}})
		start := time.Now()
		_, err := step.Run(ctx, s, "")
		if !errors.Is(err, budget.ErrExhausted) || time.Since(start) > 250*ms {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		var got []string
		for _, r := range p.Requests() {
			got = append(got, r.Header.Get(budgetattr.HeaderTimeout))
		}
		if strings.Join(got, " ") != "100 100 47" { // back-offs of 1 and 2 ms
			t.Errorf("remainders %v", got)
		}
	})
}

// linkerd 2369: hours of retries under a total of five seconds.
func TestRetriesEndWithTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, entry, _ := request(t, budget.Policy{Default: 5 * time.Second})
		defer entry.End(nil)
		start := time.Now()
		_, err := step.Run(ctx, step.Required("call", fails(10*ms), step.Terms{Retry: step.Retry{Attempts: 1 << 30}}), "")
		if err == nil || time.Since(start) > 5*time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

// bifrost 7035: attempts begin after the client has left.
func TestNoAttemptAfterTheClientLeftDuringBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := budgettest.NewRecorder()
		base, leave := context.WithCancel(t.Context())
		ctx, entry, _ := r.Edge(budget.Policy{Default: time.Hour}).Start(base, budget.Arrival{Name: "in", ParentCause: budgetattr.CauseClientDisconnect})
		defer entry.End(nil)
		time.AfterFunc(time.Second, leave)
		start := time.Now()
		res, err := step.RunResult(ctx, step.Required("call", fails(0), step.Terms{Retry: step.Retry{Attempts: 10, Wait: 20 * time.Minute, MaxWait: time.Hour}}), "")
		if res.Attempts != 1 || !errors.Is(err, context.Canceled) || time.Since(start) != time.Second {
			t.Errorf("%d attempts, %v after %v", res.Attempts, err, time.Since(start))
		}
	})
}

func TestHedgeIsSentOnlyIfItCanFinish(t *testing.T) {
	for _, c := range []struct {
		budget  time.Duration
		sent    int32
		took    time.Duration
		skipped int
	}{{2 * time.Second, 2, 300 * ms, 0}, {250 * ms, 1, 200 * ms, 2}} { // neither a hedge nor a retry fits
		t.Run(c.budget.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, entry, r := request(t, budget.Policy{Default: c.budget, Reserve: 50 * ms})
				var sent atomic.Int32
				work := func(ctx context.Context, in string) (string, error) {
					if sent.Add(1) == 1 {
						return takes(time.Hour, "slow")(ctx, in)
					}
					return takes(200*ms, "fast")(ctx, in)
				}
				s := step.Optional("call", work, raw, step.Terms{Expected: 200 * ms, Retry: step.Retry{Attempts: 2, Hedge: 100 * ms}})
				start := time.Now()
				res, err := step.RunResult(ctx, s, "")
				if time.Since(start) != c.took || sent.Load() != c.sent || res.RetriesSkipped != c.skipped || c.sent == 2 && (res.Value != "fast" || err != nil) {
					t.Errorf("%+v, %v after %v, %d sent", res, err, time.Since(start), sent.Load())
				}
				synctest.Wait()
				entry.End(err)
				budgettest.Stopped(t, r, 0)
				causes := ""
				for _, h := range r.Stage("call") {
					causes += h.Text(budgetattr.CancelCauseKey)
				}
				if c.sent == 2 && causes != string(budgetattr.CauseSuperseded) {
					t.Errorf("causes %q", causes)
				}
			})
		})
	}
}

func TestCompletionPolicyProtectsWhatHasBegun(t *testing.T) {
	for _, completion := range []time.Duration{0, 300 * ms} {
		t.Run(completion.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := budgettest.NewRecorder()
				base, leave := context.WithCancel(t.Context())
				ctx, entry, _ := r.Edge(budget.Policy{Default: time.Second}).Start(base, budget.Arrival{Name: "in"})
				committed := false
				commit := func(ctx context.Context, _ string) (string, error) {
					if _, err := takes(200*ms, "")(ctx, ""); err != nil {
						return "", err
					}
					committed = true
					return "id", nil
				}
				time.AfterFunc(100*ms, leave)
				id, err := step.Run(ctx, step.Required("commit", commit, step.Terms{Completion: completion}), "")
				entry.End(err)
				if committed != (completion > 0) || (err == nil) != committed || (id == "id") != committed {
					t.Errorf("committed %v, %q, %v", committed, id, err)
				}
				budgettest.Stopped(t, r, 0)
				if c := r.Last(t, "commit").Text(budgetattr.CancelCauseKey); c != string(budgetattr.CauseUpstreamCancel) {
					t.Errorf("cause %q", c)
				}
			})
		})
	}
}

func TestPartialCannotPassAsFinal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		half := func(context.Context, string) (string, error) {
			return "", &step.Partial[string]{Value: "half an answer", Err: errUnavailable}
		}
		ctx, entry, r := request(t, budget.Policy{Default: time.Second})
		accepts := step.Required("generate", half, step.Terms{Partial: true, Retry: step.Retry{Attempts: 3}})
		res, err := step.RunResult(ctx, accepts, "")
		if err != nil || res.Value != "half an answer" || res.Decision != budgetattr.DecisionPartial || res.Attempts != 1 {
			t.Errorf("%+v, %v", res, err)
		}
		var part *step.Partial[string]
		if text, err := step.Run(ctx, accepts, ""); text != "" || !errors.As(err, &part) || part.Value != "half an answer" {
			t.Errorf("%q, %v", text, err)
		}
		if _, err := step.RunResult(ctx, step.Required("strict", half, step.Terms{}), ""); !errors.Is(err, errUnavailable) {
			t.Errorf("err %v", err)
		}
		entry.End(nil)
		if o := r.Entries()[0].Text(budgetattr.OutcomeKey); o != string(budgetattr.OutcomePartial) {
			t.Errorf("outcome %s", o)
		}
	})
}

func TestExpectationIsMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		live := budget.NewEstimator(0.05)
		edge := budgettest.NewRecorder().Edge(budget.Policy{Default: time.Second})
		did := 0
		s := step.Optional("rerank", func(ctx context.Context, in string) (string, error) {
			did++
			return takes(600*ms, "ranked")(ctx, in)
		}, raw, step.Terms{Live: live, Expected: 10 * ms})
		run := func(spent time.Duration) {
			ctx, entry, _ := edge.Start(t.Context(), budget.Arrival{})
			time.Sleep(spent)
			_, err := step.Run(ctx, s, "")
			entry.End(err)
		}
		for range budget.EstimatorMinSamples {
			run(0)
		}
		did = 0
		for range 32 {
			run(500 * ms)
		}
		if did != 2 { // each sixteenth is let through, so that an improvement would be seen
			t.Errorf("%d of 32 steps were started that could not finish", did)
		}
	})
}

func TestDeclarationsThatContradictThemselvesPanic(t *testing.T) {
	do := takes(0, "")
	for name, declare := range map[string]func(){
		"no name":         func() { step.Required("", do, step.Terms{}) },
		"negative":        func() { step.Required("a", do, step.Terms{Cap: -1}) },
		"cap below floor": func() { step.Required("a", do, step.Terms{Cap: 1, MinUseful: 2}) },
		"no value":        func() { step.Optional("a", do, nil, step.Terms{}) },
		"refusal":         func() { step.Required("a", do, step.Terms{Refusal: budgetattr.DecisionSkip}) },
		"silent fallback": func() { step.Required("a", do, step.Terms{}).Or(step.Fallback[string, string]{Name: "b", Do: do}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			declare()
		}()
	}
}

func TestPanicOfAStepIsTheCallers(t *testing.T) {
	ctx, entry, _ := request(t, budget.Policy{Default: time.Minute})
	defer entry.End(nil)
	defer func() {
		if p := recover(); p != "boom" {
			t.Errorf("panic %v", p)
		}
	}()
	_, _ = step.Run(ctx, step.Required("a", func(context.Context, string) (string, error) { panic("boom") }, step.Terms{}), "")
}

func TestShadowRunsWhatItWouldSkip(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, entry, r := request(t, budget.Policy{Default: 100 * ms, Control: budget.NewControl(budgetattr.ModeShadow)})
		s := step.Optional("rerank", takes(time.Second, "ranked"), raw, step.Terms{Expected: time.Second})
		if text, err := step.Run(ctx, s, ""); text != "ranked" || err != nil {
			t.Errorf("%q, %v", text, err)
		}
		entry.End(nil)
		if h := r.Last(t, "rerank"); h.Decision() != budgetattr.DecisionSkip || h.Text(budgetattr.ModeKey) != "shadow" {
			t.Errorf("decision %s", h.Decision())
		}
	})
}

func get(ctx context.Context, client *http.Client, url string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	if err := step.CheckStatus(resp); err != nil {
		return "", err
	}
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

// Work that ends its goroutine, as a failed assertion of a test does, is a failed step and holds nobody.
func TestWorkThatEndsItsGoroutine(t *testing.T) {
	ctx, entry, _ := request(t, budget.Policy{Default: time.Minute})
	defer entry.End(nil)
	exits := func(context.Context, string) (string, error) { runtime.Goexit(); return "", nil }
	start := time.Now()
	if text, err := step.Run(ctx, step.Optional("a", exits, raw, step.Terms{}), "x"); text != "raw x" || err != nil || time.Since(start) > 30*time.Second {
		t.Errorf("%q, %v after %v", text, err, time.Since(start))
	}
}
