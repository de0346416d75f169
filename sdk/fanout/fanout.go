// Package fanout asks several branches at once under one deadline and closes in time to make something of what came. What
// comes later is counted and changes nothing.
package fanout

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// Plan says when a fan-out closes and what it needs. The zero Plan waits for every branch until the budget ends and needs
// none of them.
type Plan struct {
	// Deadline is the time that all branches have together; zero means what the budget leaves.
	Deadline time.Duration
	// Margin is the time that the branches leave for the aggregation of their results.
	Margin time.Duration
	// Quorum is how many valid results there must be.
	Quorum int
	// Enough closes the fan-out as soon as there are that many valid results, the mandatory ones among them. Zero means
	// that all branches are waited for.
	Enough int
	// Late is told of each result that came after the close, as evidence. It is called by another goroutine.
	Late func(branch string, value any)
}

// Branch is one of the branches.
type Branch[T any] struct {
	// Name is the stage of the branch.
	Name string
	// Peer names the service that it calls.
	Peer string
	// Mandatory says that there is no answer without it.
	Mandatory bool
	// Limit bounds this branch; zero means the common deadline.
	Limit time.Duration
	// MinUseful is the smallest allowance with which the branch is worth starting.
	MinUseful time.Duration
	// Do does the work.
	Do func(context.Context) (T, error)
}

// Result is what one branch gave.
type Result[T any] struct {
	Branch string
	Value  T
	// Elapsed is the time from the start of the fan-out to the result.
	Elapsed time.Duration
}

// IncompleteError says that a fan-out did not get what it needs. It wraps why the branches named failed.
type IncompleteError struct {
	// Missing are the mandatory branches without a valid result.
	Missing []string
	// Valid is the number of valid results, Quorum how many there had to be.
	Valid, Quorum int
	// Err joins what the branches failed with.
	Err error
}

// Error names what is missing.
func (e *IncompleteError) Error() string {
	if len(e.Missing) > 0 {
		return fmt.Sprintf("fan-out without %s: %v", strings.Join(e.Missing, ", "), e.Err)
	}
	if e.Err == nil {
		return fmt.Sprintf("fan-out with %d of %d results", e.Valid, e.Quorum)
	}
	return fmt.Sprintf("fan-out with %d of %d results: %v", e.Valid, e.Quorum, e.Err)
}

// Unwrap returns what the branches failed with.
func (e *IncompleteError) Unwrap() error { return e.Err }

// Collect runs the branches and returns the valid results in the order in which they came, also beside an error.
func Collect[T any](ctx context.Context, plan Plan, branches ...Branch[T]) ([]Result[T], error) {
	var all []Result[T]
	for r, err := range Each(ctx, plan, branches...) {
		if _, failed := errors.AsType[*IncompleteError](err); failed {
			return all, err
		}
		if err == nil {
			all = append(all, r)
		}
	}
	return all, nil
}

// Each runs the branches and yields what they give in the order in which it comes: a result, or the branch's name with its
// error. If the fan-out does not get what it needs, the last pair is an [*IncompleteError]; a mandatory branch that fails,
// and a quorum that can no longer be reached, end the others at once. A consumer that has enough ends them too.
func Each[T any](ctx context.Context, plan Plan, branches ...Branch[T]) iter.Seq2[Result[T], error] {
	return func(yield func(Result[T], error) bool) {
		f := newFan(ctx, plan, branches)
		cause := budgetattr.CauseSuperseded
		defer func() { f.close(cause) }()
		for len(f.open) > 0 && !f.enough() {
			a := f.next()
			if !yield(Result[T]{Branch: a.branch.Name, Value: a.value, Elapsed: time.Since(f.began)}, a.err) {
				return
			}
			if f.lost() {
				cause = budgetattr.CauseSiblingFailed
				break
			}
		}
		f.close(cause)
		if err := f.verdict(); err != nil {
			yield(Result[T]{}, err)
		}
	}
}
