// Package effect makes writes to other systems that survive timeouts, cancellations and crashes without being done twice or
// forgotten.
//
// Each write has an idempotency key and a durable state. It is planned, and marked as sent before anything leaves the process.
// An answer confirms it. A timeout after that leaves it uncertain, never failed: it may have happened. Then the destination
// is asked by the key, inside the reserve that [Writer.Do] kept for it, or later by a [Reconciler]; it is written again only
// if the destination says that it is not there and can no longer arrive. Each change of state is a compare and swap, so a
// worker that comes back late finds the state moved on, and what it brings is kept as evidence.
//
//	planned ─> sent ─> confirmed
//	             │  └─> uncertain ─> reconciled    it is there
//	             │          └──────> planned       it is not there and may be written again
//	             └─────────────────> abandoned     it is not there, and is given up
package effect
