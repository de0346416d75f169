// Package verdict judges: one span by its own facts (JudgeSpan), one trace by its spans (Judge). It is pure and reads
// deadline.* attributes and times only; nothing here parses error texts, headers or status codes.
//
// All arithmetic is in integer nanoseconds. The order of the spans, duplicates among them and the offset of a whole
// machine's clock change no verdict of grade measured, same_clock or bound.
package verdict
