// Package envelope carries the budget of work that waits: in a queue, over a restart, between agents, for a person.
//
// An [Envelope] is written with [New] when the work is handed on and stored with it, as JSON or in the headers of a message.
// It holds instants in UTC, of which a [Clock] takes the difference between machines. A [Consumer] checks it after delivery,
// not by the time of enqueueing: what has expired, was cancelled, is closed or has used up its attempts does not run, and
// what runs does so under the rest of the same budget, however often it is delivered.
//
// What is known of a unit of work beyond its message is a [Unit] record in a [record.Store], at the key of its cancellation
// id: the path of work ids from the root of its tree. [Cancel] of one id reaches the unit and all below it, queued or
// running, and [Units] tells which have confirmed. A closed unit stays closed: what arrives later is kept as evidence.
//
// Nothing here gives a unit more time. A person may, by a new unit: [Regrant].
package envelope
