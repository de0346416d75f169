// Package step runs the steps of a chain that degrades instead of dying. A step declares what it needs and what is done
// where the time does not suffice: [Optional] steps are gone without, a [Required] one has a [Fallback] or fails honestly.
// What was decided is recorded on the step's hop, and a caller is told of everything its answer goes without.
//
// A retry is made by one layer, never resets the deadline, and starts only if back-off, a realistic attempt and what must
// be left afterwards fit in what remains. A [Chain] makes each step leave what the steps after it need.
package step
