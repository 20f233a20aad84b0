"""Words with several senses, in sentences of our own; the first is what the page opens with."""

from __future__ import annotations

EXAMPLES: dict[str, str] = {
    "play": """theatre | We went to the theatre and saw a play about a queen.
theatre | The play has three acts and ends with a wedding.
music | She can play the violin and the piano.
music | They play slow songs on an old guitar every evening.
children | The children play in the garden until it is dark.
children | Two kittens play with a ball of wool on the floor.
sport | Our team will play the last match on Sunday.
sport | The boys play football in the park after school.
part | Teachers play an important part in the life of a child.
part | Bees play a large role when fruit trees are in flower.
slack | The old wheel has too much play, so the cart shakes.
slack | Leave a little play between the door and its frame.""",
    "bank": """money | She took her money to the bank and opened an account.
money | The bank lends money to people who want to buy a house.
money | A thief broke into the bank and stole the gold.
river | The boat lay on the bank of the river.
river | We sat on the grassy bank and watched the water.
river | A fisherman stood on the muddy bank with his rod.
cloud | A dark bank of clouds came up before the storm.
cloud | The ship went slowly into a bank of fog.
rely | You can bank on your friends when you need help.
rely | Do not bank on good weather in April.""",
    "light": """lamp | Please turn off the light before you go to bed.
lamp | There was a light in the window of the cottage.
sun | The light of the sun fell through the leaves.
sun | Plants need light and water to grow.
weight | The basket was empty and very light.
weight | A feather is so light that the wind can carry it.
colour | Her eyes were light blue like the sky.
colour | He wore a light grey coat and a dark hat.
fire | They light a fire when the evenings are cold.
fire | Can you light the candle with this match?""",
    "spring": """season | In spring the trees have new leaves and flowers.
season | The birds come back every spring and build their nests.
season | Winter was long, and spring came late that year.
water | Cold water runs from a spring at the foot of the hill.
water | They drank from the spring and filled their bottles.
metal | The clock stopped because its spring was broken.
metal | A steel spring holds the lid of the box.
jump | The cat made ready to spring at the mouse.
jump | I saw the tiger spring over the fence.""",
}
