// Package llm guards calls of language models. [Transport] is an http.RoundTripper for clients of OpenAI, Anthropic and
// those that speak like them, the official Go clients among them, which stay as they are. A stream that is silent, before
// its first token or between two, ends with an error that is a timeout; heartbeats keep a connection alive and are no
// progress; a caller that leaves ends the stream, by a declared policy for what is already paid for. [Fallback] takes the
// next provider while nothing was delivered, all under one deadline.
//
// The hop of a call carries what OpenTelemetry's gen_ai conventions say beside the attributes of package budgetattr; the
// HTTP request below it is a hop of package budgethttp.
package llm
