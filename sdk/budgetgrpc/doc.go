// Package budgetgrpc carries budgets over gRPC: [ServerOptions] grant one to each call that arrives, unary or streaming,
// [DialOptions] check, shrink and pass on what is left with each call that leaves.
//
// gRPC carries the context's deadline itself, as grpc-timeout, but rounds it up. The client therefore sends whole
// milliseconds, rounded down, beside it; the server takes the smaller. What arrives is clamped by the policy.
package budgetgrpc
