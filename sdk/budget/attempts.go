package budget

import (
	"context"
	"errors"
	"sync"

	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// LayerSDK is the layer of attempts that a client library made without telling anyone.
const LayerSDK = "sdk"

// ErrAttempts is the error of an attempt beyond the allowance.
var ErrAttempts = errors.New("attempts are used up")

// Attempts counts the attempts of one piece of work over all layers. It is safe for concurrent use.
type Attempts struct {
	mu            sync.Mutex
	before, limit int
	made          int
}

type attempt struct {
	of    *Attempts
	n     int
	layer string

	mu    sync.Mutex
	wired bool
}

// NewAttempts returns a counter that goes on from the attempt the request came with and allows at most limit attempts more
// than that came with; limit ≤ 0 allows any number.
func NewAttempts(ctx context.Context, limit int) *Attempts {
	return &Attempts{before: incomingAttempt(ctx) - 1, limit: limit}
}

// Begin counts one attempt of a layer and returns the context to make it in, or false if the allowance is used up. The
// number is 1-based over all layers.
func (a *Attempts) Begin(ctx context.Context, layer string) (context.Context, int, bool) {
	n, ok := a.next(ctx, layer)
	if !ok {
		return ctx, n, false
	}
	s := scopeFrom(ctx)
	if s == nil {
		s = outside()
	}
	child := *s
	child.attempt = &attempt{of: a, n: n, layer: layer}
	return context.WithValue(ctx, scopeKey{}, &child), n, true
}

// Total returns the number of attempts made over all layers, those before this counter included.
func (a *Attempts) Total() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.before + a.made
}

// UsedUp reports whether a further attempt would be refused.
func (a *Attempts) UsedUp() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.limit > 0 && a.made >= a.limit
}

func (a *Attempts) next(ctx context.Context, layer string) (int, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.limit > 0 && a.made >= a.limit {
		return a.before + a.made, false
	}
	a.made++
	s := scopeFrom(ctx)
	if s == nil {
		s = outside()
	}
	m := s.edge.metrics
	m.attempts.Add(ctx, 1, m.with(labels{layer: layer}))
	return a.before + a.made, true
}

// WireAttempt is what a transport says of one request it is about to send.
type WireAttempt struct {
	// N is the number of the attempt over all layers, from 1.
	N int
	// Layer made the attempt; empty if nobody counts.
	Layer string
	// Refused says that the allowance is used up: the request must not be sent.
	Refused bool
}

// NextWireAttempt is called by a transport for each request it sends. The first one in the context of an attempt is that
// attempt; each further one is a silent retry of a client library and counts as an attempt of layer [LayerSDK].
func NextWireAttempt(ctx context.Context) WireAttempt {
	s := scopeFrom(ctx)
	if s == nil || s.attempt == nil {
		return WireAttempt{N: incomingAttempt(ctx)}
	}
	at := s.attempt
	at.mu.Lock()
	first := !at.wired
	at.wired = true
	at.mu.Unlock()
	if first {
		return WireAttempt{N: at.n, Layer: at.layer}
	}
	n, ok := at.of.next(ctx, LayerSDK)
	return WireAttempt{N: n, Layer: LayerSDK, Refused: !ok && s.mode == budgetattr.ModeEnforce}
}

// SameWireAttempt is [NextWireAttempt] for a request that belongs to the one before it, as a redirect does: it counts
// nothing.
func SameWireAttempt(ctx context.Context) WireAttempt {
	if s := scopeFrom(ctx); s != nil && s.attempt != nil {
		return WireAttempt{N: max(s.attempt.of.Total(), s.attempt.n), Layer: s.attempt.layer}
	}
	return WireAttempt{N: incomingAttempt(ctx)}
}

func incomingAttempt(ctx context.Context) int {
	if s := scopeFrom(ctx); s != nil && s.entry != nil {
		return max(s.entry.arrival.Attempt, 1)
	}
	return 1
}
