package step

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// Func does the work of a step. Its context ends when the step's time is over.
type Func[In, Out any] func(context.Context, In) (Out, error)

// Terms are what a step declares of itself. The zero Terms bound nothing, and nothing is repeated.
type Terms struct {
	// Peer names the service that the step calls.
	Peer string
	// Expected is what the step usually takes, and Variability how much more it may take. An optional step, one with a
	// fallback, a retry and a hedge start only if both fit.
	Expected, Variability time.Duration
	// Live replaces Expected by what was measured, once it has seen enough runs. An estimator made with a false-timeout
	// rate of 0.5 gives the median, with 0.05 what 95 of 100 runs take at most. The step observes its runs into it.
	Live *budget.Estimator
	// MinUseful is the smallest allowance with which the step is worth starting at all.
	MinUseful time.Duration
	// Cap bounds one attempt; zero means no cap.
	Cap time.Duration
	// Reserve must be left for what follows and is no step of the chain.
	Reserve time.Duration
	// Retry says whether the step may be repeated. The zero Retry means that it must not.
	Retry Retry
	// Completion lets work that has begun go on for this long after its cancellation, so that an effect is not torn
	// apart. It is kept from the step's own time, so that it takes nothing from what follows. Zero means that a cancelled
	// step's result counts no more.
	Completion time.Duration
	// Refusal is what is decided where a required step without a fallback has no time: pending, reauthorize, cancel or
	// close. Empty means reject.
	Refusal budgetattr.Decision
	// Partial says that a partial result is better than none. It stays typed as partial; see [Partial].
	Partial bool
}

// Fallback is another way to what a step gives.
type Fallback[In, Out any] struct {
	// Name is the stage of the fallback. The caller of the chain is told that the step was replaced.
	Name string
	// Do does the work.
	Do Func[In, Out]
	// Reserve is the time that the step itself leaves for it.
	Reserve time.Duration
	// MinUseful is the smallest allowance with which it is worth starting.
	MinUseful time.Duration
	// Meets says why the fallback meets the feature's needs. It must not be empty: no model is exchanged silently.
	Meets string
	// Decision is what is recorded: fallback, shorter_route or read_only. Empty means fallback.
	Decision budgetattr.Decision
}

// Step is a declared step. It does not change and is safe for concurrent use.
type Step[In, Out any] struct {
	declaration
	do       Func[In, Out]
	skip     func(In) Out
	fallback *Fallback[In, Out]
	valid    func(context.Context, Out) error // nil if there is no check

	runs, jobs sync.Pool
}

// Declared is a step of any type.
type Declared interface{ declared() *declaration }

// declaration is what is known of a step without its types.
type declaration struct {
	name            string
	terms           Terms
	optional        bool
	hasFallback     bool
	fallbackReserve time.Duration
	refusals        atomic.Uint32 // by a live estimate
}

func (d *declaration) declared() *declaration { return d }

// Required declares a step without whose result there is no answer. It panics if the terms contradict themselves: steps
// are declared at start-up.
func Required[In, Out any](name string, do Func[In, Out], terms Terms) *Step[In, Out] {
	s := &Step[In, Out]{do: do}
	s.name, s.terms = name, terms
	s.check()
	return s
}

// Optional declares a step that an answer can go without; skip gives the value to go on with. It panics as [Required] does.
func Optional[In, Out any](name string, do Func[In, Out], skip func(In) Out, terms Terms) *Step[In, Out] {
	s := &Step[In, Out]{do: do, skip: skip}
	s.name, s.terms, s.optional = name, terms, true
	s.check()
	if skip == nil {
		panic(fmt.Sprintf("step %s: an optional step needs a value to go on with", name))
	}
	return s
}

// Or returns the step with a fallback. It panics if the fallback does not say what it meets.
func (s *Step[In, Out]) Or(f Fallback[In, Out]) *Step[In, Out] {
	switch {
	case f.Do == nil || f.Name == "":
		panic(fmt.Sprintf("step %s: the fallback has no name or does nothing", s.name))
	case f.Meets == "":
		panic(fmt.Sprintf("step %s: the fallback %s does not declare how it meets the feature's needs", s.name, f.Name))
	case f.Reserve < 0 || f.MinUseful < 0:
		panic(fmt.Sprintf("step %s: the fallback's durations must not be negative", s.name))
	}
	switch f.Decision {
	case "":
		f.Decision = budgetattr.DecisionFallback
	case budgetattr.DecisionFallback, budgetattr.DecisionShorterRoute, budgetattr.DecisionReadOnly:
	default:
		panic(fmt.Sprintf("step %s: a fallback cannot be decided as %s", s.name, f.Decision))
	}
	c := s.copy()
	c.fallback, c.hasFallback, c.fallbackReserve = &f, true, f.Reserve
	return c
}

// Validated returns the step with a check of its result, which is part of its work and under its time; a result that does
// not pass is a failure of the attempt, which may be repeated or replaced as any other. The result of a fallback is checked
// too. The hop records when its result was complete and when it was found valid.
func (s *Step[In, Out]) Validated(check func(context.Context, Out) error) *Step[In, Out] {
	if check == nil {
		panic(fmt.Sprintf("step %s: a check must do something", s.name))
	}
	c := s.copy()
	c.valid = check
	return c
}

// copy returns a step with the same declaration, none of whose runs is known yet.
func (s *Step[In, Out]) copy() *Step[In, Out] {
	c := &Step[In, Out]{do: s.do, skip: s.skip, fallback: s.fallback, valid: s.valid}
	c.name, c.terms, c.optional = s.name, s.terms, s.optional
	c.hasFallback, c.fallbackReserve = s.hasFallback, s.fallbackReserve
	return c
}

// Name returns the name of the step.
func (s *Step[In, Out]) Name() string { return s.name }

func (d *declaration) check() {
	t := &d.terms
	switch {
	case d.name == "":
		panic("a step needs a name")
	case t.Expected < 0 || t.Variability < 0 || t.MinUseful < 0 || t.Cap < 0 || t.Reserve < 0 || t.Completion < 0:
		panic(fmt.Sprintf("step %s: durations must not be negative", d.name))
	case t.Cap > 0 && t.Cap < t.MinUseful:
		panic(fmt.Sprintf("step %s: the cap %v is below the smallest useful allowance %v", d.name, t.Cap, t.MinUseful))
	}
	switch t.Refusal {
	case "", budgetattr.DecisionReject, budgetattr.DecisionPending, budgetattr.DecisionReauthorize, budgetattr.DecisionCancel, budgetattr.DecisionClose:
	default:
		panic(fmt.Sprintf("step %s: %s gives no answer in place of the step; declare it optional or give it a fallback", d.name, t.Refusal))
	}
}

// expected returns what a run takes.
func (d *declaration) expected() time.Duration {
	if d.terms.Live != nil {
		if live, ok := d.terms.Live.Limit(d.name, d.terms.Peer).Get(); ok {
			return live
		}
	}
	return d.terms.Expected
}

// need returns what the step takes of the budget at least, with what it must leave itself.
func (d *declaration) need() time.Duration {
	switch {
	case d.optional:
		return 0
	case d.hasFallback:
		return d.fallbackReserve + d.terms.Reserve
	}
	return max(d.terms.MinUseful, d.expected()+d.terms.Variability) + d.terms.Completion + d.terms.Reserve
}

// refusal is the decision where the step must not start.
func (s *Step[In, Out]) refusal() budgetattr.Decision {
	switch {
	case s.fallback != nil:
		return s.fallback.Decision
	case s.optional:
		return budgetattr.DecisionSkip
	case s.terms.Refusal != "":
		return s.terms.Refusal
	}
	return budgetattr.DecisionReject
}

// unmet is the decision where neither the step nor its fallback gave a result.
func (s *Step[In, Out]) unmet() budgetattr.Decision {
	switch {
	case s.optional:
		return budgetattr.DecisionSkip
	case s.terms.Refusal != "":
		return s.terms.Refusal
	}
	return budgetattr.DecisionReject
}

// Result is what became of a step.
type Result[Out any] struct {
	Value Out
	// Decision is run, skip, fallback, shorter_route, read_only or partial.
	Decision budgetattr.Decision
	// By names the step or its fallback that gave the value.
	By string
	// Attempts counts the attempts of this step, Backoff is the time waited between them and Elapsed that of the step.
	Attempts         int
	Backoff, Elapsed time.Duration
	// RetriesSkipped counts the attempts and hedges that were not sent though the terms allow them, for SkippedReason.
	RetriesSkipped int
	SkippedReason  Reason
	// Err is why the step itself did not give the value; nil if it did.
	Err error
}

// Partial is the error of work that has only a part of its result. Where the terms accept it, [RunResult] gives the value
// with the decision partial; [Run], whose value is final, returns it as the error it is.
type Partial[Out any] struct {
	Value Out
	Err   error // why there is no more
}

// Error names what kept the result from being complete.
func (p *Partial[Out]) Error() string { return "partial result: " + p.Err.Error() }

// Unwrap returns what kept the result from being complete.
func (p *Partial[Out]) Unwrap() error { return p.Err }

// Retryable reports false: output was delivered.
func (p *Partial[Out]) Retryable() bool { return false }

// UnmetError says that a required step gave no result and what its declaration makes of that: pending, reauthorize,
// cancel or close.
type UnmetError struct {
	Stage    string
	Decision budgetattr.Decision
	Err      error
}

// Error names the step and the decision.
func (e *UnmetError) Error() string { return fmt.Sprintf("%s: %s: %v", e.Stage, e.Decision, e.Err) }

// Unwrap returns why there is no result.
func (e *UnmetError) Unwrap() error { return e.Err }

// Degraded returns the stages that the answer of the request goes without so far, for a field of the answer. Over HTTP the
// header is set by budgethttp.
func Degraded(ctx context.Context) []string {
	if en := budget.FromContext(ctx); en != nil {
		return en.Degraded()
	}
	return nil
}
