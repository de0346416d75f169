package api

import "time"

// instant is a time that JSON shows in RFC 3339 UTC with as many decimals as it needs.
type instant time.Time

// MarshalJSON writes the time.
func (i instant) MarshalJSON() ([]byte, error) {
	return time.Time(i).UTC().AppendFormat(nil, `"`+time.RFC3339Nano+`"`), nil
}

func instantOf(nanos int64) instant { return instant(time.Unix(0, nanos)) }
