import type { Random } from '../shared/random.js';

/** Where people of the demo live, and what they are called there. */
interface Place {
  readonly city: string;
  readonly zone: string;
  readonly given: readonly [string, ...string[]];
  readonly family: readonly [string, ...string[]];
}

const words = (text: string): [string, ...string[]] => text.split(' ') as [string, ...string[]];

const place = (city: string, zone: string, given: string, family: string): Place => ({
  city,
  zone,
  given: words(given),
  family: words(family),
});

const places: readonly [Place, ...Place[]] = [
  place('Lisbon', 'Europe/Lisbon', 'Ana Inês Beatriz Tiago Rui Duarte Leonor Miguel', 'Costa Silva Ferreira Lopes Marques Rocha'),
  place('Berlin', 'Europe/Berlin', 'Lena Jonas Mia Paul Clara Felix Emil Frieda', 'Schmidt Weber Fischer Wagner Becker Krüger'),
  place('Lagos', 'Africa/Lagos', 'Chidi Amara Tunde Ngozi Femi Adaeze Bola Kelechi', 'Okafor Adeyemi Eze Balogun Okonkwo Bello'),
  place('Mumbai', 'Asia/Kolkata', 'Aarav Diya Rohan Ananya Kabir Isha Vivaan Meera', 'Sharma Patel Iyer Kulkarni Mehta Nair'),
  place('Tokyo', 'Asia/Tokyo', 'Haruto Yui Sota Aoi Ren Hina Yuto Mei', 'Sato Suzuki Takahashi Tanaka Watanabe Ito'),
  place('Sydney', 'Australia/Sydney', 'Olivia Jack Isla Noah Ruby Liam Matilda Cooper', 'Nguyen Smith Taylor Wilson Singh Murphy'),
  place(
    'São Paulo',
    'America/Sao_Paulo',
    'Helena Davi Laura Bernardo Júlia Caio Luiza Otávio',
    'Souza Oliveira Santos Lima Almeida Ribeiro',
  ),
  place(
    'Mexico City',
    'America/Mexico_City',
    'Sofía Santiago Valentina Mateo Camila Emiliano Ximena Diego',
    'García Hernández Flores Ramírez Torres Cruz',
  ),
  place('New York', 'America/New_York', 'Maya Ethan Zoe Marcus Chloe Isaac Naomi Theo', 'Johnson Rivera Cohen Brooks Chen Rossi'),
];

/** A person of the demo, with the properties that the study app sends. */
export interface Person {
  readonly id: string;
  readonly name: string;
  readonly city: string;
  readonly zone: string;
  readonly email: string | undefined;
  readonly deviceToken: string | undefined;
}

const emailShare = 0.3;
const pushShare = 0.1;

/** Letters that lose nothing but a mark keep their base letter in an id; the Turkish dotless i has none. */
const slug = (name: string): string =>
  name
    .normalize('NFD')
    .replace(/\p{Mn}/gu, '')
    .toLowerCase()
    .replaceAll('ı', 'i')
    .replace(/[^a-z0-9]+/g, '-');

/** Draws people with different ids. */
export class Census {
  private readonly namesakes = new Map<string, number>();

  draw(random: Random): Person {
    const { city, zone, given, family } = random.pick(places);
    const name = `${random.pick(given)} ${random.pick(family)}`;
    const base = slug(name);
    const count = (this.namesakes.get(base) ?? 0) + 1;
    this.namesakes.set(base, count);
    const id = count === 1 ? base : `${base}-${count}`;
    return {
      id,
      name,
      city,
      zone,
      email: random.chance(emailShare) ? `${id}@example.com` : undefined,
      deviceToken: random.chance(pushShare) ? `ExponentPushToken[demo-${id}]` : undefined,
    };
  }
}
