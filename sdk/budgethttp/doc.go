// Package budgethttp carries budgets over HTTP: [NewMiddleware] grants one to each request that arrives, [NewTransport]
// checks, shrinks and passes on what is left with each request that leaves.
//
// The remainder travels as a duration in X-Request-Timeout-Ms, computed when the request is written; what gRPC, Envoy and
// Connect send is understood too, and the smallest valid value wins. What is malformed counts as missing, what is negative
// has expired; neither ever makes a budget grow.
package budgethttp
