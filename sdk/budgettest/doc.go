// Package budgettest is for tests of chains that must keep their budget: a [Provider] whose every delay and fault is to
// order, a [Recorder] of spans, and assertions about both. A provider made with [InMemory] works in a bubble of
// testing/synctest, where hours of waiting take no time.
package budgettest
