package stream

import "time"

// DefaultIdle is the liveness limit of a stream for which none was given.
const DefaultIdle = 120 * time.Second

// limits are the bounds of one stream; zero or less means none.
type limits struct {
	stage        string
	idle         time.Duration
	progress     time.Duration
	firstContent time.Duration
	total        time.Duration
	start        time.Time
}

// Option changes how a stream is watched.
type Option interface{ apply(*limits) }

type optionFunc func(*limits)

func (f optionFunc) apply(l *limits) { f(l) }

// WithIdle sets how long the producer may stay silent: no byte at all, heartbeats included. Zero or less disables the limit;
// without this option it is DefaultIdle.
func WithIdle(d time.Duration) Option { return optionFunc(func(l *limits) { l.idle = d }) }

// WithProgress sets how long the producer may deliver no content, whatever heartbeats it sends. Zero or less, the default,
// disables the limit.
func WithProgress(d time.Duration) Option { return optionFunc(func(l *limits) { l.progress = d }) }

// WithFirstContent sets how long the first content may take, from the start of the watch. Zero or less, the default, disables
// the limit.
func WithFirstContent(d time.Duration) Option {
	return optionFunc(func(l *limits) { l.firstContent = d })
}

// WithTotal bounds the life of the whole stream, the reader's own pauses included. Zero or less, the default, disables the
// limit: a stream that makes progress is not cut.
func WithTotal(d time.Duration) Option { return optionFunc(func(l *limits) { l.total = d }) }

// WithStage names the stage that the stream belongs to, for metrics.
func WithStage(stage string) Option { return optionFunc(func(l *limits) { l.stage = stage }) }

// WithStart makes the clocks of the first content and of the whole stream count from an earlier instant, such as the sending of
// the request, instead of from the start of the watch.
func WithStart(t time.Time) Option { return optionFunc(func(l *limits) { l.start = t }) }

func newLimits(opts []Option) limits {
	l := limits{idle: DefaultIdle}
	for _, o := range opts {
		o.apply(&l)
	}
	return l
}
