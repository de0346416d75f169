package budgettest_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/budgethttp"
	"github.com/laxity-dev/laxity/sdk/budgettest"
)

// handle is the code under test: it calls a provider.
func handle(ctx context.Context, url string, rt http.RoundTripper) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/chat/completions", http.NoBody)
	if err != nil {
		return err
	}
	resp, err := (&http.Client{Transport: budgethttp.NewTransport(rt)}).Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// The usual shape of a test with a fake provider: a fault to order, a request with a budget, and what must be true after.
func TestProviderThatSaysNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := budgettest.NewProvider(t, budgettest.InMemory())
		p.Answer(budgettest.Freeze())
		r := budgettest.NewRecorder()
		ctx, entry, err := r.Edge(budget.Policy{Default: time.Hour, Reserve: time.Second}).Start(t.Context(), budget.Arrival{Name: "GET /"})
		if err != nil {
			t.Fatal(err)
		}
		entry.End(handle(ctx, p.URL, p.Transport()))
		budgettest.WithinBudget(t, r)
		budgettest.Stopped(t, r, 0)
		budgettest.Quiet(t, p, 0)
	})
}

func TestAnswerAtTheLastMillisecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := budgettest.NewProvider(t, budgettest.InMemory())
		p.Answer(budgettest.LastMoment(time.Millisecond))
		r := budgettest.NewRecorder()
		ctx, entry, _ := r.Edge(budget.Policy{Default: time.Second}).Start(t.Context(), budget.Arrival{Name: "GET /"})
		err := handle(ctx, p.URL, p.Transport())
		entry.End(err)
		if margin, _ := r.Entries()[0].Seconds(budgetattr.MarginKey); err != nil || margin != time.Millisecond {
			t.Errorf("%v, margin %v", err, margin)
		}
	})
}

// The assertions must fail where they should.
func TestAssertionsFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := budgettest.NewRecorder()
		ctx, entry, _ := r.Edge(budget.Policy{Default: time.Second}).Start(t.Context(), budget.Arrival{Name: "in"})
		hopCtx, hop, _ := budget.StartHop(ctx, "deaf")
		_ = hopCtx
		time.Sleep(2 * time.Second)
		entry.End(nil)
		hop.End(nil)
		for name, assert := range map[string]func(testing.TB){
			"within budget": func(t testing.TB) { budgettest.WithinBudget(t, r) },
			"never started": func(t testing.TB) { budgettest.NeverStarted(t, r, "deaf") },
			"stopped":       func(t testing.TB) { budgettest.Stopped(t, r, time.Millisecond) },
			"decided":       func(t testing.TB) { budgettest.Decided(t, r, "deaf", budgetattr.DecisionSkip) },
		} {
			f := &failing{TB: t}
			if assert(f); !f.failed {
				t.Errorf("%s does not fail", name)
			}
		}
	})
}

type failing struct {
	testing.TB
	failed bool
}

func (f *failing) Errorf(string, ...any) { f.failed = true }
func (f *failing) Error(...any)          { f.failed = true }
