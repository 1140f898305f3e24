package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

type constant struct {
	name  string // as in C
	value uint64
}

type field struct {
	name   string
	ctype  string // uint32_t, upf_addr, or struct upf_x
	count  uint64 // array length, 0 for a single value
	offset uint64
}

type structure struct {
	name   string // upf_pdr
	fields []field
	size   uint64
	align  uint64
}

type reason struct{ symbol, label, help string }

type header struct {
	constants []constant
	values    map[string]uint64
	structs   []structure
	byName    map[string]structure
	arrays    map[string]uint64 // typedef of octets: upf_addr is uint8_t[16]
	drops     []reason
}

var (
	commentRE = regexp.MustCompile(`(?s)//[^\n]*|/\*.*?\*/`)
	defineRE  = regexp.MustCompile(`^#define\s+(UPF_\w+)\s+(.+)$`)
	dropRE    = regexp.MustCompile(`X\((\w+),\s*"([^"]*)",\s*"([^"]*)"\)`)
	arrayRE   = regexp.MustCompile(`^(\w+)\[(\w+)\]$`)
	typedefRE = regexp.MustCompile(`^typedef uint8_t (\w+)\[(\w+)\]$`)
)

func parse(src string) (*header, error) {
	h := &header{values: map[string]uint64{}, byName: map[string]structure{}, arrays: map[string]uint64{}}
	src = commentRE.ReplaceAllStringFunc(src, func(c string) string {
		return strings.Repeat("\n", strings.Count(c, "\n"))
	})
	src = strings.ReplaceAll(src, "\\\n", " ")

	var code []string
	for _, line := range strings.Split(src, "\n") {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "#define UPF_DROP_REASONS(X)"):
			for _, m := range dropRE.FindAllStringSubmatch(line, -1) {
				h.drops = append(h.drops, reason{m[1], m[2], m[3]})
			}
		case strings.HasPrefix(line, "#define UPF_DROP_ENUM("), line == "#define UPF_ABI_H":
		case strings.HasPrefix(line, "#define"):
			m := defineRE.FindStringSubmatch(line)
			if m == nil {
				return nil, fmt.Errorf("cannot read %q", line)
			}
			v, err := h.eval(m[2])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", m[1], err)
			}
			h.constant(m[1], v)
		case strings.HasPrefix(line, "#"):
		default:
			code = append(code, line)
		}
	}
	if len(h.drops) == 0 {
		return nil, fmt.Errorf("UPF_DROP_REASONS not found")
	}
	return h, h.declarations(strings.Join(code, " "))
}

func (h *header) constant(name string, v uint64) {
	h.constants = append(h.constants, constant{name, v})
	h.values[name] = v
}

// eval reads a product of integer literals and earlier names.
func (h *header) eval(expr string) (uint64, error) {
	expr = strings.TrimSpace(expr)
	if strings.HasPrefix(expr, "(") && strings.HasSuffix(expr, ")") {
		expr = expr[1 : len(expr)-1]
	}
	product := uint64(1)
	for _, f := range strings.Split(expr, "*") {
		f = strings.TrimSpace(f)
		v, known := h.values[f]
		if !known {
			var err error
			if v, err = strconv.ParseUint(strings.TrimRight(f, "uUlL"), 0, 64); err != nil {
				return 0, fmt.Errorf("%q is no integer", f)
			}
		}
		product *= v
	}
	return product, nil
}

func (h *header) declarations(code string) error {
	for code = strings.TrimSpace(code); code != ""; code = strings.TrimSpace(code) {
		end := strings.Index(code, ";")
		if strings.HasPrefix(code, "enum") || strings.HasPrefix(code, "struct") {
			closing := strings.Index(code, "}")
			if closing < 0 {
				return fmt.Errorf("unterminated %.40q", code)
			}
			end = closing + strings.Index(code[closing:], ";")
		}
		if end < 0 {
			return fmt.Errorf("unterminated %.40q", code)
		}
		decl := code[:end]
		code = code[end+1:]
		open, closing := strings.Index(decl, "{"), strings.LastIndex(decl, "}")
		words := strings.Fields(decl)
		switch {
		case strings.HasPrefix(decl, "static_assert("):
		case words[0] == "typedef":
			m := typedefRE.FindStringSubmatch(strings.Join(words, " "))
			if m == nil {
				return fmt.Errorf("unknown declaration %.60q", decl)
			}
			n, err := h.eval(m[2])
			if err != nil {
				return err
			}
			h.arrays[m[1]] = n
		case words[0] == "enum" && open > 0:
			if err := h.enum(decl[open+1 : closing]); err != nil {
				return err
			}
		case words[0] == "struct" && open > 0:
			if err := h.structure(words[1], decl[open+1:closing]); err != nil {
				return fmt.Errorf("struct %s: %w", words[1], err)
			}
		default:
			return fmt.Errorf("unknown declaration %.60q", decl)
		}
	}
	return nil
}

func (h *header) enum(body string) error {
	next := uint64(0)
	if rest, ok := strings.CutPrefix(strings.TrimSpace(body), "UPF_DROP_REASONS(UPF_DROP_ENUM)"); ok {
		for _, d := range h.drops {
			h.constant("UPF_DROP_"+d.symbol, next)
			next++
		}
		body = rest
	}
	for _, e := range strings.Split(body, ",") {
		e = strings.TrimSpace(e)
		if e == "" {
			continue
		}
		name, value, given := strings.Cut(e, "=")
		if given {
			v, err := h.eval(value)
			if err != nil {
				return err
			}
			next = v
		}
		h.constant(strings.TrimSpace(name), next)
		next++
	}
	return nil
}

func (h *header) structure(name, body string) error {
	s := structure{name: name, align: 1}
	for _, member := range strings.Split(body, ";") {
		member = strings.TrimSpace(member)
		if member == "" {
			continue
		}
		ctype, names, ok := strings.Cut(member, " ")
		if ctype == "struct" {
			var tag string
			tag, names, ok = strings.Cut(strings.TrimSpace(names), " ")
			ctype = "struct " + tag
		}
		if !ok {
			return fmt.Errorf("cannot read %q", member)
		}
		size, align, err := h.layout(ctype)
		if err != nil {
			return err
		}
		s.align = max(s.align, align)
		for _, n := range strings.Split(names, ",") {
			f := field{name: strings.TrimSpace(n), ctype: ctype}
			units := uint64(1)
			if m := arrayRE.FindStringSubmatch(f.name); m != nil {
				f.name = m[1]
				if f.count, err = h.eval(m[2]); err != nil {
					return err
				}
				units = f.count
			}
			s.size = (s.size + align - 1) / align * align
			f.offset = s.size
			s.size += size * units
			s.fields = append(s.fields, f)
		}
	}
	s.size = (s.size + s.align - 1) / s.align * s.align
	h.structs = append(h.structs, s)
	h.byName[name] = s
	return nil
}

func (h *header) layout(ctype string) (size, align uint64, err error) {
	switch ctype {
	case "uint8_t":
		return 1, 1, nil
	case "uint16_t":
		return 2, 2, nil
	case "uint32_t", "int32_t":
		return 4, 4, nil
	case "uint64_t":
		return 8, 8, nil
	}
	if n, ok := h.arrays[ctype]; ok {
		return n, 1, nil
	}
	if s, ok := h.byName[strings.TrimPrefix(ctype, "struct ")]; ok {
		return s.size, s.align, nil
	}
	return 0, 0, fmt.Errorf("type %q is not known", ctype)
}
