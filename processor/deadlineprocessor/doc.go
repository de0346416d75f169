//go:generate mdatagen metadata.yaml

// Package deadlineprocessor adds to each span what its own facts say about its time budget: margin, ratio, late, outcome,
// cause, phase and post-cancel time. It keeps no state: a span is annotated from itself and forwarded at once. What needs two
// spans is judged from storage.
package deadlineprocessor
