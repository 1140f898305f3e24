package configuration

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/session-management/configuration"
)

// The words below are those of the custom resources: a file and a Core5G say the same thing in the same way.

// ParsePLMN reads three digits of an MCC, and two or three of an MNC.
func ParsePLMN(mcc, mnc string) (string, error) {
	if len(mcc) != 3 || len(mnc) < 2 || len(mnc) > 3 || strings.Trim(mcc+mnc, "0123456789") != "" {
		return "", fmt.Errorf("PLMN of mcc %.20q and mnc %.20q: write three digits and two or three, in quotes, for example {mcc: \"208\", mnc: \"93\"}", mcc, mnc)
	}
	return mcc + mnc, nil
}

// ParseTAC reads six hexadecimal digits.
func ParseTAC(text string) (uint32, error) { return configuration.ParseTAC(text) }

// ParseSNSSAI reads an SST, 1 to 255, and an SD of six hexadecimal digits, "" for none.
func ParseSNSSAI(sst int, sd string) (out record.Slice, err error) {
	if sst < 1 || sst > 255 {
		return out, fmt.Errorf("sst %d: write 1 to 255", sst)
	}
	out.SST = uint8(sst)
	out.SD, err = configuration.ParseSD(sd)
	return out, err
}

// SNSSAI as TS 29.571 writes it: 1-010203, or 1.
func SNSSAI(s record.Slice) string {
	if s.SD == nil {
		return fmt.Sprint(s.SST)
	}
	return fmt.Sprintf("%d-%x", s.SST, s.SD[:])
}

// ParseIntegrity reads NIA1, NIA2 or NIA3.
func ParseIntegrity(word string) (uint8, error) { return algorithm(word, "NIA", 1) }

// ParseCiphering reads NEA0, NEA1, NEA2 or NEA3.
func ParseCiphering(word string) (uint8, error) { return algorithm(word, "NEA", 0) }

func algorithm(word, kind string, least byte) (uint8, error) {
	number, ok := strings.CutPrefix(word, kind)
	if !ok || len(number) != 1 || number[0] < '0'+least || number[0] > '3' {
		return 0, fmt.Errorf("algorithm %.20q: write %s%d to %s3", word, kind, least, kind)
	}
	return number[0] - '0', nil
}

// ParseZone reads +02:00 or -03:30, "" for UTC. The result is how far the zone is east of UTC.
func ParseZone(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	refused := fmt.Errorf("time zone %.20q: write how far it is ahead of UTC, for example \"+02:00\"", text)
	sign, rest := text[0], text[1:]
	hours, minutes, ok := strings.Cut(rest, ":")
	if sign != '+' && sign != '-' || !ok || len(hours) != 2 || len(minutes) != 2 || strings.Trim(hours+minutes, "0123456789") != "" {
		return 0, refused
	}
	h, _ := strconv.Atoi(hours) // they are digits
	m, _ := strconv.Atoi(minutes)
	if h > 14 || m > 59 {
		return 0, refused
	}
	zone := time.Duration(h)*time.Hour + time.Duration(m)*time.Minute
	if sign == '-' {
		zone = -zone
	}
	return zone, nil
}
