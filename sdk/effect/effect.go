package effect

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// State is the durable state of an effect.
type State = budgetattr.EffectState

var (
	// ErrUncertain says that the effect may or may not have happened. It is listed until it is reconciled; do not repeat it
	// under another key.
	ErrUncertain = errors.New("effect is uncertain")
	// ErrAbandoned says that the effect has not happened and will not under this key.
	ErrAbandoned = errors.New("effect is abandoned")
	// ErrConflict says that the key stands for another effect.
	ErrConflict = errors.New("effect key stands for another effect")
	// ErrMoved says that another worker has moved the effect on.
	ErrMoved = errors.New("effect was moved on by another")
	// ErrNotFound is the error of a key that was never planned.
	ErrNotFound = errors.New("no such effect")
)

// Effect is one write to another system. It is a plain value.
type Effect struct {
	// Key is the idempotency key, at most 200 bytes.
	Key string
	// Operation names what is written where; a reconciler finds its declaration by it.
	Operation string
	// Unit is the unit of work that wants the effect; it may be empty.
	Unit string
	// Payload is what is sent, Fingerprint its SHA-256.
	Payload     []byte
	Fingerprint string
	State       State
	// Version grows with every change and is the fence against those who come late.
	Version int64
	// Sends counts how often it was sent.
	Sends int
	// PlannedAt, SentAt and ChangedAt are instants of the machine that wrote them, in microseconds. SettledBy is when a
	// request that was sent has arrived or never will. NotAfter is the instant after which it must not be sent; zero means
	// none.
	PlannedAt, SentAt, SettledBy, NotAfter, ChangedAt time.Time
	// Result is what the destination answered, Reason why the state is what it is.
	Result []byte
	Reason string
}

// Settled reports whether nothing more will happen to the effect.
func (e *Effect) Settled() bool { return settled(e.State) }

func settled(s State) bool {
	switch s {
	case budgetattr.EffectConfirmed, budgetattr.EffectReconciled, budgetattr.EffectAbandoned:
		return true
	}
	return false
}

// Evidence is a result that arrived when the effect had moved on. It changes nothing.
type Evidence struct {
	At     time.Time
	Result []byte
	Text   string
}

// Store keeps effects. Implementations are safe for concurrent use by many processes, and effecttest tells whether they
// keep the contract.
type Store interface {
	// Plan stores a planned effect, or returns what is stored under its key. If that has another operation or fingerprint,
	// the error is ErrConflict.
	Plan(ctx context.Context, e Effect) (Effect, error)
	// Get returns an effect, or ErrNotFound.
	Get(ctx context.Context, key string) (Effect, error)
	// Move stores e over the version before its own, which it makes one higher, and returns it. If that is no longer the
	// last, nothing is stored and the error is ErrMoved. Key, operation, unit, payload and plan never change.
	Move(ctx context.Context, e Effect) (Effect, error)
	// Unsettled lists effects that are not settled and were last changed before an instant, oldest first.
	Unsettled(ctx context.Context, before time.Time, limit int) ([]Effect, error)
	// AddEvidence keeps a late result, Evidence returns those of a key, oldest first.
	AddEvidence(ctx context.Context, key string, ev Evidence) error
	Evidence(ctx context.Context, key string) ([]Evidence, error)
}

// Check returns an error unless a store may move an effect from one state to another.
func Check(from, to State) error {
	ok := false
	switch from {
	case budgetattr.EffectPlanned:
		ok = to == budgetattr.EffectSent || to == budgetattr.EffectAbandoned
	case budgetattr.EffectSent:
		ok = to == budgetattr.EffectConfirmed || to == budgetattr.EffectUncertain || to == budgetattr.EffectReconciled ||
			to == budgetattr.EffectPlanned || to == budgetattr.EffectAbandoned
	case budgetattr.EffectUncertain:
		ok = to == budgetattr.EffectReconciled || to == budgetattr.EffectPlanned || to == budgetattr.EffectAbandoned
	}
	if !ok {
		return fmt.Errorf("effect: %s cannot become %s", from, to)
	}
	return nil
}

// Key derives an idempotency key from a unit of work and names that tell its effects apart. It is the same in every
// execution of the unit.
func Key(unit string, names ...string) string {
	key := unit
	for _, n := range names {
		key += "/" + n
	}
	if len(key) > maxKey {
		sum := sha256.Sum256([]byte(key))
		return "sha256-" + hex.EncodeToString(sum[:])
	}
	return key
}

const maxKey = 200

func fingerprint(payload []byte) string {
	sum := sha256.Sum256(payload)
	return hex.EncodeToString(sum[:])
}

// stamp is the present instant as stores keep it.
func stamp() time.Time { return time.Now().UTC().Round(0).Truncate(time.Microsecond) }
