# Questions about whole checkouts, with their manuals, change logs and tests: `ask` beside semble (its default, code alone, and
# all its kinds of files; both with our table) and ripgrep. The archives are unpacked in runs/checkouts once. LABELLED is the
# folder of `make repositories`, whose questions are asked, too. CHECKOUT_SYSTEMS leaves systems out; PEERS are those that are
# installed.
.PHONY: checkouts

CHECKOUTS := runs/checkouts
LABELLED = $(DATA)/repositories
CHECKOUT_SYSTEMS := ask ask-words ask-2000 $(if $(filter semble,$(PEERS)),semble semble-all) $(filter ripgrep,$(PEERS))
CHECKOUT_KINDS := labelled code docs paraphrase tests
CHECKOUT_LABELS = $(DATA)/checkouts/questions.jsonl $(LABELLED)/queries.jsonl.gz $(LABELLED)/qrels.jsonl.gz
# stated after a first run of others
CHECKOUTS_HYPOTHESES := $(foreach kind,labelled code paraphrase tests,ask:semble:$(kind)/RR@10) \
  ask:semble-all:docs/RR@10 $(foreach kind,labelled code,ask:semble:$(kind)/tokens ask-2000:semble:$(kind)/tokens) ask:ask-words:labelled/RR@10

checkouts: $(INSTALLED) ## Questions about whole checkouts
	$(call needs,checkouts/questions.jsonl)
	$(tell-lacked)
	@mkdir -p $(CHECKOUTS)
	OMP_NUM_THREADS=1 $(BIN)/python -m experiments.checkouts $(CHECKOUT_SYSTEMS) --data $(DATA)/checkouts --labelled $(LABELLED) \
	  --folder $(CHECKOUTS) > $(CHECKOUTS)/table.md
	$(TELL) gather $(CHECKOUT_KINDS:%=$(CHECKOUTS)/values-%.jsonl) --every --title 'Questions about whole checkouts' \
	  --against $(filter-out ask,$(CHECKOUT_SYSTEMS)) --stated $(CHECKOUTS_HYPOTHESES) --folder $(CHECKOUTS) -o $(CHECKOUTS)/report.json \
	  --data $(CHECKOUT_LABELS) --command 'make -C experiments checkouts'
	@cat $(CHECKOUTS)/table.md

# 450 questions about 15 other projects, in other languages. The five of ASIDE are looked at only when a choice is made.
.PHONY: projects
PROJECTS := runs/projects
PROJECT_SYSTEMS := ask $(if $(filter semble,$(PEERS)),semble semble-all)
PROJECT_KINDS := code docs paraphrase tests settings
ASIDE := benchmark lifelines serilog spring-petclinic vapor
projects: $(INSTALLED) ## Questions about checkouts of 15 other projects
	$(call needs,projects/questions.jsonl)
	$(tell-lacked)
	@mkdir -p $(PROJECTS)
	OMP_NUM_THREADS=1 $(BIN)/python -m experiments.checkouts $(PROJECT_SYSTEMS) --data $(DATA)/projects \
	  --folder $(PROJECTS) --aside $(ASIDE) > $(PROJECTS)/table.md
	@cat $(PROJECTS)/table.md

# A trial that changed nothing: kinds of files by a fitted model instead of cue words
.PHONY: ask-kinds
ask-kinds: $(INSTALLED) ## Kinds of files by what was found
	$(call needs,projects/questions.jsonl)
	@mkdir -p runs/ask-kinds
	OMP_NUM_THREADS=1 $(BIN)/python -m experiments.ask_kinds --data $(DATA)/checkouts $(DATA)/projects --labelled $(LABELLED) \
	  --folder runs/ask-kinds --aside $(ASIDE) > runs/ask-kinds/table.md
	@cat runs/ask-kinds/table.md

# What `mcp`, serena, semble and ripgrep answer an agent that asks where ten symbols of Flask are defined, in tokens. SEMBLE and
# SERENA are their programs; one that is missing is left out.
.PHONY: symbols
SYMBOLS := Blueprint Flask render_template url_for make_response send_file jsonify stream_with_context load_dotenv \
  after_this_request
SEMBLE := $(shell command -v semble)
SERENA := $(shell command -v serena)
symbols: $(INSTALLED) ## What tools for agents answer about symbols
	$(call needs,checkouts/flask.tar.xz)
	@mkdir -p runs/symbols
	tar -xJf '$(DATA)/checkouts/flask.tar.xz' -C runs/symbols
	OMP_NUM_THREADS=1 $(BIN)/python -m experiments.symbols runs/symbols/flask $(SYMBOLS) \
	  $(if $(SEMBLE),--semble $(SEMBLE)) $(if $(SERENA),--serena $(SERENA)) > runs/symbols/table.md
	@cat runs/symbols/table.md
