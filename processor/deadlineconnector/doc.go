//go:generate mdatagen metadata.yaml

// Package deadlineconnector measures how requests spend their time budgets: it turns spans with deadline.* attributes into the
// deadline.* metrics, with bounded cardinality, the latest miss as exemplar, and an early lower bound of orphan work.
package deadlineconnector
