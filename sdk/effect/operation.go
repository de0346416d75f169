package effect

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Request is one write as the destination gets it.
type Request struct {
	Key     string
	Payload []byte
	// Fence grows with every send of the key. A destination that remembers the highest can refuse those who come late.
	Fence int64
}

// Presence is what a destination says of a key.
type Presence uint8

const (
	// Unknown: it cannot tell.
	Unknown Presence = iota
	// Present: the write is there.
	Present
	// Absent: the write is not there. A request on its way may still arrive until [Operation.Settle] has passed.
	Absent
)

// Operation declares one kind of write. Its functions are called with contexts that end; they must stop then.
type Operation struct {
	// Name is stored with each effect and is the stage of its hops.
	Name string
	// Peer is the service that is written to.
	Peer string
	// Send writes. The result is what a later caller with the same key gets. An error wrapped by [NotDone] says that the
	// write certainly did not happen; any other leaves it uncertain.
	Send func(context.Context, Request) (result []byte, err error)
	// Ask looks for a write by its key. Without it nothing can be reconciled but by a person.
	Ask func(ctx context.Context, key string) (Presence, []byte, error)
	// Expected and Variability are what Send needs; with less it does not start. Confirm is kept for asking after it.
	Expected, Variability, Confirm time.Duration
	// Cap bounds Send, in every mode: the protocol rests on it. Zero means ten seconds.
	Cap time.Duration
	// Settle is how long after the end of a call a write may still appear, plus what the clocks of workers may differ. Zero
	// means one second.
	Settle time.Duration
	// Repeat says that what is absent after Settle may be written again under the same key. Without it the effect is
	// abandoned.
	Repeat bool
	// Complete is the completion policy: once sending has begun, a cancellation of the caller no longer interrupts it.
	Complete bool
}

// Validate reports what the declaration lacks.
func (o *Operation) Validate() error {
	switch {
	case o.Name == "":
		return errors.New("effect: an operation needs a name")
	case o.Send == nil:
		return fmt.Errorf("effect: operation %s needs Send", o.Name)
	case o.Expected < 0 || o.Variability < 0 || o.Confirm < 0 || o.Cap < 0 || o.Settle < 0:
		return fmt.Errorf("effect: operation %s has a negative duration", o.Name)
	}
	return nil
}

func (o *Operation) limit() time.Duration {
	if o.Cap == 0 {
		return 10 * time.Second
	}
	return o.Cap
}

func (o *Operation) settle() time.Duration {
	if o.Settle == 0 {
		return time.Second
	}
	return o.Settle
}

// NotDone marks an error of Send as one after which the write certainly did not happen: the destination refused it, or
// nothing was sent. If again is true the same write may be tried later under the same key; otherwise it is abandoned.
func NotDone(err error, again bool) error { return &notDone{err: err, again: again} }

type notDone struct {
	err   error
	again bool
}

func (e *notDone) Error() string { return e.err.Error() }
func (e *notDone) Unwrap() error { return e.err }
