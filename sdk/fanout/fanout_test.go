package fanout_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/budgettest"
	"github.com/laxity-dev/laxity/sdk/fanout"
)

const ms = time.Millisecond

var errUnavailable = errors.New("unavailable")

func branch(name string, d time.Duration, err error) fanout.Branch[string] {
	return fanout.Branch[string]{Name: name, Do: func(ctx context.Context) (string, error) {
		select {
		case <-time.After(d):
			return name, err
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}}
}

func mandatory(b fanout.Branch[string]) fanout.Branch[string] { b.Mandatory = true; return b }

func names(rs []fanout.Result[string]) string {
	var all []string
	for _, r := range rs {
		all = append(all, r.Value)
	}
	return strings.Join(all, " ")
}

// in runs a fan-out in a request of its own in a bubble.
func in(t *testing.T, p budget.Policy, run func(ctx context.Context), check func(*budgettest.Recorder)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := budgettest.NewRecorder()
		ctx, entry, err := r.Edge(p).Start(t.Context(), budget.Arrival{Name: "in"})
		if err != nil {
			t.Fatal(err)
		}
		run(ctx)
		entry.End(nil)
		check(r)
	})
}

func TestAggregationKeepsItsMargin(t *testing.T) {
	in(t, budget.Policy{Default: time.Second, Reserve: 100 * ms}, func(ctx context.Context) {
		start := time.Now()
		got, err := fanout.Collect(ctx, fanout.Plan{Margin: 200 * ms}, branch("a", 300*ms, nil), branch("b", time.Hour, nil), branch("c", 100*ms, nil))
		if names(got) != "c a" || err != nil || time.Since(start) != 700*ms {
			t.Errorf("%s, %v after %v", names(got), err, time.Since(start))
		}
		if d := budget.FromContext(ctx).Degraded(); len(d) != 1 || d[0] != "b" {
			t.Errorf("degraded %v", d)
		}
	}, func(r *budgettest.Recorder) {
		budgettest.WithinBudget(t, r)
		budgettest.Stopped(t, r, 0)
	})
}

func TestMandatoryBranchThatFailsEndsTheOthers(t *testing.T) {
	in(t, budget.Policy{Default: time.Minute}, func(ctx context.Context) {
		start := time.Now()
		_, err := fanout.Collect(ctx, fanout.Plan{}, mandatory(branch("a", 100*ms, errUnavailable)), branch("b", time.Hour, nil))
		var incomplete *fanout.IncompleteError
		if !errors.As(err, &incomplete) || !errors.Is(err, errUnavailable) || incomplete.Missing[0] != "a" || time.Since(start) != 100*ms {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	}, func(r *budgettest.Recorder) {
		budgettest.Stopped(t, r, 0)
		if c := r.Last(t, "b").Text(budgetattr.CancelCauseKey); c != string(budgetattr.CauseSiblingFailed) {
			t.Errorf("cause %s", c)
		}
	})
}

func TestMandatoryBranchThatIsLate(t *testing.T) {
	in(t, budget.Policy{Default: time.Minute}, func(ctx context.Context) {
		got, err := fanout.Collect(ctx, fanout.Plan{Deadline: 100 * ms}, mandatory(branch("a", time.Hour, nil)), branch("b", 0, nil))
		if names(got) != "b" || !errors.Is(err, budget.ErrExhausted) {
			t.Errorf("%s, %v", names(got), err)
		}
	}, func(*budgettest.Recorder) {})
}

func TestQuorum(t *testing.T) {
	for quorum, ok := range map[int]bool{2: true, 3: false} {
		in(t, budget.Policy{Default: time.Second}, func(ctx context.Context) {
			got, err := fanout.Collect(ctx, fanout.Plan{Deadline: 500 * ms, Quorum: quorum},
				branch("a", 0, nil), branch("b", ms, errUnavailable), branch("c", 2*ms, nil), branch("d", time.Hour, nil))
			if names(got) != "a c" || (err == nil) != ok {
				t.Errorf("quorum %d: %s, %v", quorum, names(got), err)
			}
		}, func(*budgettest.Recorder) {})
	}
}

func TestEnoughEndsTheRest(t *testing.T) {
	in(t, budget.Policy{Default: time.Minute}, func(ctx context.Context) {
		start := time.Now()
		got, err := fanout.Collect(ctx, fanout.Plan{Enough: 1}, branch("a", 10*ms, nil), branch("b", time.Hour, nil), mandatory(branch("c", 50*ms, nil)))
		if names(got) != "a c" || err != nil || time.Since(start) != 50*ms {
			t.Errorf("%s, %v after %v", names(got), err, time.Since(start))
		}
	}, func(r *budgettest.Recorder) {
		if c := r.Last(t, "b").Text(budgetattr.CancelCauseKey); c != string(budgetattr.CauseSuperseded) {
			t.Errorf("cause %s", c)
		}
	})
}

func TestBranchLimitAndFloor(t *testing.T) {
	in(t, budget.Policy{Default: time.Second}, func(ctx context.Context) {
		limited := branch("limited", time.Hour, nil)
		limited.Limit = 50 * ms
		hungry := branch("hungry", 0, nil)
		hungry.MinUseful = 2 * time.Second
		start := time.Now()
		got, err := fanout.Collect(ctx, fanout.Plan{}, limited, hungry, branch("a", 10*ms, nil))
		if names(got) != "a" || err != nil || time.Since(start) != 50*ms {
			t.Errorf("%s, %v after %v", names(got), err, time.Since(start))
		}
	}, func(r *budgettest.Recorder) { budgettest.NeverStarted(t, r, "hungry") })
}

func TestT30_ResultAfterFanIn(t *testing.T) {
	type evidence struct {
		branch string
		value  any
	}
	in(t, budget.Policy{Default: 10 * time.Second}, func(ctx context.Context) {
		kept := make(chan evidence, 1)
		deaf := fanout.Branch[string]{Name: "deaf", Do: func(context.Context) (string, error) { time.Sleep(2 * time.Second); return "late", nil }}
		start := time.Now()
		plan := fanout.Plan{Deadline: time.Second, Late: func(b string, v any) { kept <- evidence{b, v} }}
		got, err := fanout.Collect(ctx, plan, deaf, branch("a", 0, nil))
		if names(got) != "a" || err != nil || time.Since(start) > time.Second+20*ms {
			t.Errorf("%s, %v after %v", names(got), err, time.Since(start))
		}
		if e := <-kept; e != (evidence{"deaf", "late"}) || names(got) != "a" {
			t.Errorf("kept %v", e)
		}
		synctest.Wait()
	}, func(r *budgettest.Recorder) {
		if n := r.Entries()[0].Int(budgetattr.LateResultsKey); n != 1 {
			t.Errorf("%d late results", n)
		}
		if over, _ := r.Last(t, "deaf").Seconds(budgetattr.PostCancelTimeKey); over != time.Second {
			t.Errorf("worked on for %v", over)
		}
	})
}

func TestT30_OtherExecution(t *testing.T) {
	in(t, budget.Policy{Default: time.Second}, func(ctx context.Context) {
		f := fanout.NewFence(ctx, "second")
		if err := f.Accept("second"); err != nil {
			t.Error(err)
		}
		if err := f.Accept("first"); !errors.Is(err, fanout.ErrOtherExecution) {
			t.Errorf("err %v", err)
		}
		f.Close()
		if err := f.Accept("second"); !errors.Is(err, fanout.ErrClosed) || f.Late() != 2 {
			t.Errorf("err %v, %d late", err, f.Late())
		}
	}, func(r *budgettest.Recorder) {
		if n := r.Entries()[0].Int(budgetattr.LateResultsKey); n != 2 {
			t.Errorf("%d late results", n)
		}
	})
}

func TestConsumerThatHasEnough(t *testing.T) {
	in(t, budget.Policy{Default: time.Minute}, func(ctx context.Context) {
		for r, err := range fanout.Each(ctx, fanout.Plan{}, branch("a", 0, nil), branch("b", time.Hour, nil)) {
			if r.Value != "a" || err != nil {
				t.Errorf("%v, %v", r, err)
			}
			break
		}
	}, func(r *budgettest.Recorder) { budgettest.Stopped(t, r, 0) })
}

func TestClientThatLeavesEndsTheFanOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base, leave := context.WithCancel(t.Context())
		r := budgettest.NewRecorder()
		ctx, entry, _ := r.Edge(budget.Policy{Default: time.Hour}).Start(base, budget.Arrival{Name: "in"})
		time.AfterFunc(time.Second, leave)
		_, err := fanout.Collect(ctx, fanout.Plan{}, branch("a", time.Hour, nil))
		entry.End(err)
		if !errors.Is(err, context.Canceled) || errors.Is(err, budget.ErrExhausted) {
			t.Errorf("err %v", err)
		}
		budgettest.Stopped(t, r, 0)
	})
}
