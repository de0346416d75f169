package step

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"
	"go.opentelemetry.io/otel/attribute"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// Run runs a step and returns its value, that of its fallback, or the one to go on with. An error means that a required
// step has none of them, or that nobody waits for the request any more. It wraps why; see [RunResult] for more.
func Run[In, Out any](ctx context.Context, s *Step[In, Out], in In) (Out, error) {
	r, err := RunResult(ctx, s, in)
	if err == nil && r.Decision == budgetattr.DecisionPartial {
		var none Out
		return none, &Partial[Out]{Value: r.Value, Err: r.Err}
	}
	return r.Value, err
}

// RunResult runs a step as [Run] does and tells what was decided and what it took.
func RunResult[In, Out any](ctx context.Context, s *Step[In, Out], in In) (Result[Out], error) {
	chain := chainOf(ctx)
	defer chain.finished(&s.declaration)
	decision := budgetattr.DecisionRun // also of work that panics or ends its goroutine
	defer func() { budget.CountDecision(ctx, s.name, s.terms.Peer, decision) }()
	r, ok := s.runs.Get().(*run[In, Out])
	if !ok {
		r = &run[In, Out]{}
	}
	r.step, r.in, r.ctx, r.began = s, in, chain.within(ctx), time.Now()
	r.reserve, r.nested = s.terms.Reserve+chain.rest(&s.declaration), owner(ctx) != nil
	r.result.By, r.result.Decision = s.name, budgetattr.DecisionRun
	err := r.main()
	r.result.Elapsed = time.Since(r.began)
	result := r.result
	decision = result.Decision
	if s.terms.Retry.Hedge <= 0 { // else the slower one may still look at it
		*r = run[In, Out]{}
		s.runs.Put(r)
	}
	return result, err
}

// run is one run of a step. Runs are reused.
type run[In, Out any] struct {
	step    *Step[In, Out]
	in      In
	ctx     context.Context
	began   time.Time
	reserve time.Duration // for what follows the step
	counter *budget.Attempts
	nested  bool // an outer layer owns retries
	shared  bool // the counter is that of the outer layer
	waits   *backoff.ExponentialBackOff
	result  Result[Out]
	opts    [10]budget.HopOption // room for those of an attempt
}

// main makes attempts until one succeeds or none may follow, and degrades.
func (r *run[In, Out]) main() error {
	retry := &r.step.terms.Retry
	if retry.Attempts > 1 {
		if r.counter = owner(r.ctx); r.counter != nil {
			r.shared = true
		} else {
			r.counter = budget.NewAttempts(r.ctx, retry.Attempts)
			r.ctx = context.WithValue(r.ctx, ownerKey{}, r.counter)
		}
		r.waits = retry.backoff()
	}
	for {
		reply := r.round()
		if reply.err == nil {
			r.annotate(reply.hop)
			reply.end()
			r.result.Value = reply.value
			return nil
		}
		wait, again := r.again(&reply)
		if !again {
			return r.degrade(&reply)
		}
		r.annotate(reply.hop)
		reply.end()
		if !sleep(r.ctx, wait) {
			r.result.Err = reply.err
			return r.ended()
		}
		r.result.Backoff += wait
	}
}

// options are those of every attempt; sure says that the attempt must not be begun in vain.
func (r *run[In, Out]) options(sure bool) []budget.HopOption {
	s, t := r.step, &r.step.terms
	opts := r.opts[:0]
	if t.Retry.Hedge > 0 {
		opts = nil // two attempts at once
	}
	opts = append(opts, budget.WithReserve(r.reserve+s.fallbackReserve+t.Completion), budget.WithMinUseful(t.MinUseful), budget.WithRefusal(s.refusal()))
	if t.Cap > 0 {
		opts = append(opts, budget.WithCap(t.Cap))
	}
	if t.Peer != "" {
		opts = append(opts, budget.WithPeer(t.Peer))
	}
	if s.optional {
		opts = append(opts, budget.WithOptional())
	}
	if sure || s.optional || s.fallback != nil {
		opts = append(opts, budget.WithExpected(s.expected(), t.Variability))
	}
	return opts
}

// probeEvery is the share of runs that are let through against a live estimate: without runs it would never change.
const probeEvery = 16

// round makes one attempt, or a hedged pair.
func (r *run[In, Out]) round() reply[Out] {
	s := r.step
	first := r.result.Attempts == 0
	opts := r.options(!first)
	if first && s.terms.Live != nil {
		if _, ok := budget.Fits(r.ctx, 0, opts...); !ok && s.refusals.Add(1)%probeEvery == 0 {
			opts = append(opts, budget.WithExpected(s.terms.Expected, s.terms.Variability))
		}
	}
	if hedge := s.terms.Retry.Hedge; hedge > 0 && r.counter != nil {
		return r.hedged(hedge, opts)
	}
	ctx, opts, ok := r.begin(r.ctx, opts)
	if !ok {
		return reply[Out]{err: budget.ErrAttempts, refused: true}
	}
	return r.attempt(ctx, opts)
}

// begin counts an attempt. The first one inside another layer's attempt is that attempt.
func (r *run[In, Out]) begin(ctx context.Context, opts []budget.HopOption) (context.Context, []budget.HopOption, bool) {
	r.result.Attempts++
	if r.counter == nil || r.shared && r.result.Attempts == 1 {
		return ctx, opts, true
	}
	ctx, n, ok := r.counter.Begin(ctx, r.step.name)
	if !ok {
		r.result.Attempts--
		return ctx, opts, false
	}
	return ctx, append(opts, budget.WithAttempt(n, r.step.name), budget.WithBackoff(r.result.Backoff)), true
}

func (r *run[In, Out]) attempt(ctx context.Context, opts []budget.HopOption) reply[Out] {
	s, began := r.step, time.Now()
	reply := attempt(ctx, s, s.name, s.do, r.in, s.terms.Completion, opts)
	if e := s.terms.Live; e != nil && !reply.refused {
		cut := errors.Is(reply.err, budget.ErrExhausted)
		if reply.err == nil || cut {
			e.Observe(s.name, s.terms.Peer, time.Since(began), cut)
		}
	}
	return reply
}

// hedged makes an attempt, and a second one beside it if the first one takes long and the second can still finish in time.
func (r *run[In, Out]) hedged(after time.Duration, opts []budget.HopOption) reply[Out] {
	s := r.step
	replies := make(chan reply[Out], 2)
	var cancels []context.CancelCauseFunc
	supersede := func() {
		for _, cancel := range cancels {
			if cancel != nil {
				cancel(budget.CauseError(budgetattr.CauseSuperseded))
			}
		}
	}
	send := func(opts []budget.HopOption) bool {
		ctx, opts, ok := r.begin(r.ctx, opts)
		if !ok {
			return false
		}
		ctx, cancel := context.WithCancelCause(ctx)
		i := len(cancels)
		cancels = append(cancels, cancel)
		go func() {
			reply := r.attempt(ctx, opts)
			reply.of, reply.release = i, cancel
			replies <- reply
		}()
		return true
	}
	if !send(opts) {
		return reply[Out]{err: budget.ErrAttempts, refused: true}
	}
	timer := time.NewTimer(after)
	defer timer.Stop()
	for open := 1; ; {
		select {
		case answer := <-replies:
			open--
			cancels[answer.of] = nil
			if answer.err != nil && answer.panicked == nil && open > 0 {
				answer.end()
				continue
			}
			supersede()
			if open > 0 {
				go func() {
					slower := <-replies
					slower.panicked = nil // nobody waits for it
					slower.end()
				}()
			}
			return answer
		case <-timer.C:
			sure := r.options(true)
			if _, fits := budget.Fits(r.ctx, 0, sure...); fits && send(sure) {
				budget.CountHedge(r.ctx, s.name, s.terms.Peer)
				open++
			} else {
				r.skipped(ReasonHedge)
			}
		}
	}
}

// again decides whether another attempt follows after a wait; if not, it notes why.
func (r *run[In, Out]) again(failed *reply[Out]) (wait time.Duration, again bool) {
	retry := &r.step.terms.Retry
	if r.counter == nil {
		return 0, false
	}
	if r.ctx.Err() != nil {
		r.skipped(ReasonEnded)
		return 0, false
	}
	if r.result.Attempts >= retry.Attempts && !r.shared {
		return 0, false
	}
	if r.result.Attempts >= retry.Attempts || r.counter.UsedUp() || errors.Is(failed.err, budget.ErrAttempts) {
		r.skipped(ReasonAttempts)
		return 0, false
	}
	if !retry.allows(failed.err) {
		if !failed.refused {
			r.skipped(ReasonCause)
		}
		return 0, false
	}
	reason := ReasonBudget
	wait = r.waits.NextBackOff()
	if asked := retryAfter(failed.err); asked > wait {
		wait, reason = asked, ReasonRetryAfter
	}
	if _, fits := budget.Fits(r.ctx, wait, r.options(true)...); !fits {
		r.skipped(reason)
		return 0, false
	}
	return wait, true
}

func (r *run[In, Out]) skipped(why Reason) {
	r.result.RetriesSkipped++
	r.result.SkippedReason = why
	budget.CountSkippedRetry(r.ctx, r.step.name, r.step.terms.Peer, string(why))
}

// annotate records on the hop of an attempt what the step has taken so far.
func (r *run[In, Out]) annotate(hop budget.Hop) {
	if r.counter == nil {
		return
	}
	hop.SetAttributes(attribute.Int(budgetattr.AttemptsTotalKey, r.counter.Total()))
	if r.result.Attempts > 1 && r.step.valid == nil {
		hop.SetAttributes(attribute.Float64(budgetattr.CompleteTimeKey, time.Since(r.began).Seconds()))
	}
	if n := r.result.RetriesSkipped; n > 0 {
		hop.SetAttributes(attribute.Int(budgetattr.RetriesSkippedKey, n), attribute.String(budgetattr.RetriesSkippedReasonKey, string(r.result.SkippedReason)))
	}
}

// degrade does what the step declares for the case that it gave no result, and ends the hop of its last attempt.
func (r *run[In, Out]) degrade(failed *reply[Out]) error {
	s := r.step
	r.result.Err = failed.err
	r.annotate(failed.hop)
	if failed.panicked != nil {
		failed.end() // what it panicked with is the caller's: nothing is decided instead
	}
	if r.ctx.Err() != nil {
		failed.end()
		return r.ended()
	}
	part, isPart := errors.AsType[*Partial[Out]](failed.err)
	switch {
	case isPart && s.terms.Partial:
		failed.hop.Decide(budgetattr.DecisionPartial)
		failed.end()
		r.instead(s.name, budgetattr.DecisionPartial, part.Value)
		r.result.Err = part.Err
		return nil
	case s.fallback != nil || s.optional:
		failed.hop.Decide(s.refusal())
	}
	failed.end()
	err := failed.err
	if s.fallback != nil {
		other := r.fall()
		if other == nil {
			return nil
		}
		err = fmt.Errorf("%w; fallback %s: %w", err, s.fallback.Name, other)
		if r.ctx.Err() != nil {
			return r.ended()
		}
	}
	if s.optional {
		r.instead(s.name, budgetattr.DecisionSkip, s.skip(r.in))
		return nil
	}
	r.result.Decision = s.unmet()
	if r.result.Decision != budgetattr.DecisionReject {
		return &UnmetError{Stage: s.name, Decision: r.result.Decision, Err: err}
	}
	return err
}

// fall takes the fallback.
func (r *run[In, Out]) fall() error {
	s, f := r.step, r.step.fallback
	opts := []budget.HopOption{budget.WithReserve(r.reserve), budget.WithMinUseful(f.MinUseful), budget.WithRefusal(s.unmet())}
	if s.optional {
		opts = append(opts, budget.WithOptional())
	}
	ctx := r.ctx
	if r.nested {
		// It repeats nothing: what is left of the outer layer's attempts is not its concern.
		own := budget.NewAttempts(ctx, 1)
		ctx, _, _ = own.Begin(context.WithValue(ctx, ownerKey{}, own), f.Name)
	}
	reply := attempt(ctx, s, f.Name, f.Do, r.in, 0, opts)
	if reply.err == nil {
		reply.hop.Decide(f.Decision)
		r.instead(f.Name, f.Decision, reply.value)
	} else if s.optional {
		reply.hop.Decide(budgetattr.DecisionSkip)
	}
	reply.end()
	return reply.err
}

// instead sets a result that is not the step's own, and tells the request.
func (r *run[In, Out]) instead(by string, d budgetattr.Decision, value Out) {
	r.result.By, r.result.Decision, r.result.Value = by, d, value
	if en := budget.FromContext(r.ctx); en != nil {
		en.Degrade(r.step.name)
		if d == budgetattr.DecisionPartial {
			en.SetOutcome(budgetattr.OutcomePartial)
		}
	}
}

// ended returns why the request is over.
func (r *run[In, Out]) ended() error {
	r.result.Decision = budgetattr.DecisionCancel
	if e, ok := errors.AsType[*budget.ExhaustedError](r.result.Err); ok {
		return e
	}
	if cause, ok := budget.CauseOf(r.ctx); ok {
		return fmt.Errorf("%s: %w", r.step.name, budget.CauseError(cause))
	}
	return r.ctx.Err()
}

// sleep waits and reports whether the request goes on.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
